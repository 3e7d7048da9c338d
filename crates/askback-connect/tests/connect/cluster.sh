# A PostgreSQL of the tests' own, as its user: in a folder of its own, on a socket there, until standard input ends. Says
# where it is when it is there. Takes the directory of PostgreSQL's programs, and two passwords in the environment.
# What ends the tests closes standard input, too.
trap '' HUP INT PIPE TERM
place=$(mktemp -d /tmp/askback-vault-XXXXXX) || exit
cd "$place" || exit
trap '"$1/pg_ctl" stop --silent --mode immediate --pgdata data; cd / && rm -rf "$place"' EXIT
printf %s "$PGPASSWORD" >password
{
    # The order of names in this language is another one than that of their bytes.
    "$1/initdb" --pgdata data --username postgres --pwfile password --auth scram-sha-256 --no-sync \
        --encoding UTF8 --locale C --locale-provider icu --icu-locale en-US &&
        "$1/pg_ctl" start --silent --wait --pgdata data --log log \
            --options "-k $place -c listen_addresses= -c fsync=${FSYNC-off} -c lc_messages=C" &&
        printf "CREATE ROLE vault LOGIN PASSWORD '%s'; CREATE ROLE server LOGIN PASSWORD '%s';" "$VAULT" "$VAULT" |
        "$1/psql" --quiet --no-psqlrc --host "$place" --username postgres --set ON_ERROR_STOP=1 postgres
} >said 2>&1 || {
    cat said log | tr "\n" " "
    exit 1
}
printf '%s\n' "$place"
read -r _
