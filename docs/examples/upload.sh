#!/bin/sh
# Sends dumps of one manifest to a service, with curl.
# Arguments: URL MANIFEST.json FILE...; the token is in $TRACEHOUSE_TOKEN.
url=${1%/} manifest=$2 answer=$(mktemp) failed=0
shift 2
for file in "$@"; do
    for pause in 1 2 4 8 16 32 0; do
        status=$(printf '%s' "${TRACEHOUSE_TOKEN:+header = \"Authorization: Bearer $TRACEHOUSE_TOKEN\"}" |
            curl --silent --config - --output "$answer" --write-out '%{http_code}' \
                --form "manifest=<\"$manifest\"" --form "dump=@\"$file\"" "$url/v1/dumps")
        case $status in 000 | 408 | 429 | 502 | 503 | 507) sleep "$pause" ;; *) break ;; esac
    done
    case $status in
        200 | 201) ;;
        *) echo "$file: $status $(cat "$answer")" >&2; failed=1; : > "$answer" ;;
    esac
done
rm "$answer"
exit "$failed"
