# A server of 2025-11-25. What it answers to a method is in the file `answers/METHOD`, as the member of its message;
# without a greeting it ends. A call of a tool sends the files `round-1`, `round-2`, … of the working directory before,
# each once all requests of the one before are answered. The line `gone` at the end of a round ends the server, with
# code 7; the line `once` does so the first time. It keeps what it hears in the file `heard`, and its process in the
# file `pid`.

say() { printf '%s\n' "$1"; }
hear() { IFS= read -r line && printf '%s\n' "$line" >> heard; }
answer() {
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    say '{"jsonrpc":"2.0","id":'"$id,$(cat "$1")"'}'
}

echo $$ > pid
while hear; do
    method=${line#*\"method\":\"}
    method=${method%%\"*}
    if [ "$method" = tools/call ]; then
        call=$line
        for round in round-*; do
            [ -e "$round" ] || break
            grep -v -e '^gone$' -e '^once$' "$round"
            if grep -q '^gone$' "$round"; then exit 7; fi
            if grep -q '^once$' "$round" && [ ! -e died ]; then
                : > died
                exit 7
            fi
            asked=$(grep -c '"id":"q' "$round")
            while [ "$asked" -gt 0 ]; do
                hear || exit
                case $line in *'"id":"q'*) asked=$((asked - 1)) ;; esac
            done
        done
        line=$call
    fi
    if [ -f "answers/$method" ]; then answer "answers/$method"; fi
    if [ "$method" = initialize ] && [ ! -f answers/initialize ]; then exit 7; fi
done
