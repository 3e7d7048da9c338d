# A server whose tool `dig` works for five looks and until the file `go` is there, asks how deep, and says it; `wait` never ends, and `sum`
# is none for a task. It speaks 2026-07-28 and 2025-11-25. Tasks that it is told to cancel are in the
# file `cancelled`.

say() { printf '%s\n' "$1"; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
done_with() { answer "{$modern"'"content":[{"type":"text","text":"'"$1"'"}]}'; }
stands() { printf '%s' "$modern"'"taskId":"t'"$task"'","status":"'"$1"'","createdAt":"","lastUpdatedAt":"","'$ttl'":null,"'$poll'":1'"$2"; }
question() { printf '%s' '"message":"How deep?","requestedSchema":{"type":"object","properties":{"metres":{"type":"integer"}},"required":["metres"]}'; }

modern='' ttl=ttl poll=pollInterval tasks=0
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id": *"\{0,1\}q*\([0-9]*\).*/\1/p')
    task=$(printf '%s' "$line" | sed -n 's/.*"taskId":"t\([0-9]*\)".*/\1/p')
    case $line in
    *'"server/discover"'*)
        modern='"resultType":"complete",' ttl=ttlMs poll=pollIntervalMs
        answer '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"serverInfo":{"name":"ground","version":"1"},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"initialize"'*)
        answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"ground","version":"1"}}' ;;
    *'"tools/list"'*)
        answer "{$modern"'"tools":[{"name":"dig","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"wait","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"sum","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}' ;;
    *'"tools/call"'*'"sum"'*) done_with 4 ;;
    *'"tools/call"'*)
        if [ -z "$modern" ] && [ "$line" = "${line%\"task\":*}" ]; then done_with 'at once'; continue; fi
        tasks=$((tasks + 1)) task=$tasks
        case $line in *'"dig"'*) eval "looks_$task=0" ;; *) eval "looks_$task=" ;; esac
        if [ -n "$modern" ]; then
            modern='"resultType":"task",'
            answer "{$(stands working)}"
            modern='"resultType":"complete",'
        else
            answer '{"task":{'"$(stands working)"'}}'
        fi ;;
    *'"tasks/get"'*)
        eval "looks=\$looks_$task depth=\$depth_$task"
        if [ -z "$looks" ]; then answer "{$(stands working ',"statusMessage":"still there"')}"; continue; fi
        eval "looks_$task=$((looks + 1))"
        if [ "$looks" -lt 5 ] || [ ! -e go ]; then answer "{$(stands working ',"statusMessage":"half way"')}"
        elif [ -z "$modern" ]; then answer "{$(stands input_required)}"
        elif [ -z "$depth" ]; then
            answer "{$(stands input_required ',"inputRequests":{"depth":{"method":"elicitation/create","params":{'"$(question)"'}}}')}"
        else
            answer "{$(stands completed ',"result":{"resultType":"complete","content":[{"type":"text","text":"'"$depth"' metres"}]}')}"
        fi ;;
    *'"tasks/result"'*)
        eval "owed_$task=$id"
        say '{"jsonrpc":"2.0","id":"q'"$task"'","method":"elicitation/create","params":{'"$(question)"',"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t'"$task"'"}}}}' ;;
    *'"tasks/update"'*)
        eval "depth_$task=$(printf '%s' "$line" | sed -n 's/.*"metres":\([0-9]*\).*/\1/p')"
        answer "{$modern"'"_meta":{}}' ;;
    *'"tasks/cancel"'*)
        echo "t$task" >> cancelled
        answer "{$(stands cancelled)}" ;;
    *'"action"'*)
        eval "id=\$owed_$id"
        done_with "$(printf '%s' "$line" | sed -n 's/.*"metres":\([0-9]*\).*/\1/p') metres" ;;
    esac
done
