#!/bin/sh
# What `make demo` runs: real dumps of several builds into a fresh store, and the answers.
# The store is demo.store, made anew, or the directory given as argument.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || rm -rf demo.store
export TRACEHOUSE_STORE="${1:-demo.store}"

run() {
    printf '\n$ tracehouse %s\n' "$*"
    tracehouse "$@"
}

# The rows of a comparison that changed, and how many rows of each verdict there are.
compare() {
    printf '\n$ tracehouse query regression_deltas --base %s --head %s  # what changed\n' "$1" "$2"
    rows=$(tracehouse query regression_deltas --base "$1" --head "$2" --format tsv)
    printf '%s\n' "$rows" | awk -F '\t' '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { verdict = $at["verdict"]; count[verdict]++ }
        verdict ~ /regression|improvement|_op$/ {
            change = $at["delta"] == "" ? "" : sprintf("%+.1f %%", 100 * $at["delta"])
            printf "%-5s %-9s %-40s #%d %8s  %s\n", $at["model"], $at["backend"],
                $at["event_name"], $at["ordinal"], change, verdict
        }
        END {
            for (verdict in count) text = text ", " count[verdict] " " verdict
            print "of " NR - 1 " operators: " substr(text, 3)
        }'
}

run ingest tests/data/farm
run query percentiles --device lab-x86-quiet-ab --build base --model conv --backend xnnpack
run query framework_tax --device lab-x86-quiet-ab
compare base ch26
compare base f136
compare base extra
compare qt-qt00 qt-qt01
page="$(dirname "$TRACEHOUSE_STORE")/report.html"
run report --base base --head ch26 --output "$page" 2>&1

cat <<END

ch26 widens the convolutions by 8.3 %, f136 the feed-forward layer by 6.3 %, and extra adds a
sigmoid; qt-qt00 and qt-qt01 are the same binaries (see tests/data/README.md).
The report of what ch26 changed is $page: open it in a browser.
docs/regressions.md makes a nightly one, which takes more builds than ship here.
The store is $TRACEHOUSE_STORE. Next: tracehouse query --help, tracehouse schema, or
tracehouse query operator_hotspots --top-n 3 --store $TRACEHOUSE_STORE
END
