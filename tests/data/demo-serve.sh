#!/bin/sh
# What `make demo-serve` runs: the service on the shipped farm, an upload with curl, and the answers.
# The store is demo-serve.store, made anew, or the directory given as argument.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v curl >/dev/null; then
    echo "skipped: make demo-serve, because there is no curl"
    exit 0
fi
[ $# -gt 0 ] || rm -rf demo-serve.store
store="${1:-demo-serve.store}"
chromium="${CHROMIUM-$(command -v chromium || command -v google-chrome || true)}"
dump=tests/data/corpus/real/cnn_xnnpack_n500.etdp
manifest='{"device": "pixel8", "build": "b42", "model": {"name": "cnn", "backend": "xnnpack"}}'

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

# Prints the command as it is typed, and its answer.
ask() {
    printf '\n$ curl'
    for word in "$@"; do
        case "$word" in *[!A-Za-z0-9/:.@_=?-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    curl --silent --show-error --max-time 60 "$@"
    echo
}

run tracehouse ingest tests/data/farm --store "$store"

printf '\n$ tracehouse serve --store %s --port 0\n' "$store"
log="$(dirname "$store")/demo-serve.log"
: >"$log"  # it is read before the service may have begun it
tracehouse serve --store "$store" --port 0 2>>"$log" &
service=$!
trap 'kill $service 2>/dev/null || true; wait $service 2>/dev/null || true; rm -f "$log"' EXIT
tries=0
until url=$(sed -n 's|^serving .* at \(http[^ ]*\)/$|\1|p' "$log") && [ -n "$url" ]; do
    tries=$((tries + 1))
    if [ $tries -gt 300 ] || ! kill -0 $service; then
        cat "$log" >&2
        exit 1
    fi
    sleep 0.1
done
head -n 1 "$log"

sha256=$(sha256sum "$dump" | cut -d ' ' -f 1)
ask --upload-file "$dump" --header "Tracehouse-Manifest: $manifest" "$url/v1/dumps/$sha256"
tries=0
until curl --silent "$url/v1/dumps/$sha256" | grep -q indexed; do
    tries=$((tries + 1))
    [ $tries -le 300 ] || exit 1
    sleep 0.1
done
ask "$url/v1/dumps/$sha256"
ask --header 'Accept: text/csv' "$url/v1/queries/framework_tax?device=pixel8"
printf '\nSQL is answered out of the newest snapshot, which lags behind by up to a minute:\n'
ask --header 'Content-Type: text/plain' --data 'SELECT build, count(*) AS dumps FROM named_dumps GROUP BY build ORDER BY build LIMIT 3' "$url/v1/sql"
ask "$url/readyz"

page="$url/"
if [ -n "$chromium" ]; then
    picture="$(cd "$(dirname "$store")" && pwd)/demo-serve.png"
    profile=$(mktemp -d)
    "$chromium" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
        --disable-dev-shm-usage --user-data-dir="$profile" --window-size=1200,1600 \
        --screenshot="$picture" "$page" >/dev/null 2>&1 || echo "Chromium failed"
    rm -rf "$profile"
    printf '\n%s, as Chromium shows it, is %s\n' "$page" "$picture"
else
    printf '\nskipped: the picture of %s, because there is no Chromium\n' "$page"
fi

printf '\n$ tracehouse token create lab --scope read --store %s  # from now on one is needed\n' "$store"
secret=$(tracehouse token create lab --scope read --store "$store" 2>/dev/null)
ask "$url/v1/queries/dumps?device=pixel8"
printf '\n$ curl --header "Authorization: Bearer SECRET" %s\n' "$url/v1/queries/dumps?device=pixel8"
curl --silent --max-time 60 --header "Authorization: Bearer $secret" "$url/v1/queries/dumps?device=pixel8"

kill -TERM $service
wait $service 2>/dev/null || true
cat <<END

The store is $store, and the service has ended. docs/service.md tells the rest.
END
