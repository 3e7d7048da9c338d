# A server of 2025-11-25 with one tool, `t`. A call of it sends the files `round-1`, `round-2`, … of the
# working directory, each once all requests of the one before are answered. The line `gone` at the end
# of a round ends the server, with code 7. The file `greeting` is its answer to `initialize`. It keeps what
# it hears in the file `heard`, and its process in the file `pid`.

say() { printf '%s\n' "$1"; }
hear() { IFS= read -r line && printf '%s\n' "$line" >> heard; }
answer() {
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'
}

echo $$ > pid
while hear; do
    case $line in
    *'"method":"initialize"'*)
        [ -s greeting ] || exit 7
        answer "$(cat greeting)" ;;
    *'"method":"tools/list"'*)
        answer '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
        call=$line
        for round in round-*; do
            grep -v '^gone$' "$round"
            if grep -q '^gone$' "$round"; then exit 7; fi
            asked=$(grep -c '"id":"q' "$round")
            while [ "$asked" -gt 0 ]; do
                hear || exit
                case $line in *'"id":"q'*) asked=$((asked - 1)) ;; esac
            done
        done
        line=$call
        answer '{"content":[{"type":"text","text":"done"}]}' ;;
    esac
done
