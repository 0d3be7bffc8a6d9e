# Pages, looked at in a browser.

# A test that looks in the background calls it first: a skip there is not the test's.
need_browser() {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the browser sees the same page without sanitizers"
    command -v node >/dev/null || skip "node is missing"
    [ -d "$ROOT/node_modules/playwright-core" ] || skip "node_modules/playwright-core is missing ('make setup FOR=check' fetches it)"
    [ -x "${CHROMIUM:-/usr/bin/chromium-headless-shell}" ] || [ -x /usr/bin/chromium ] || skip "chromium is missing"
}

# looked_at KIND WHAT [MORE...]: what tests/page/KIND.cjs finds. $PAGE_BROWSER is the folder of a browser that is there; without one each
# file of tests has its own.
looked_at() {
    need_browser
    local folder=${PAGE_BROWSER:-$BATS_FILE_TMPDIR/browser} ask how end=$((SECONDS + 150))
    if mkdir "$folder" 2>/dev/null; then
        node "$ROOT/tests/page/browser.cjs" "$folder" </dev/null >"$folder.log" 2>&1 3>&- &
        disown
    fi
    ask=$(mktemp "$folder/XXXXXX")
    printf '%s\0' "${URL:-}" "${TOKEN:-}" "${RUN:-}" "$@" >"$ask"
    mv "$ask" "$ask.ask"
    until [ -e "$ask.said" ]; do
        [ $SECONDS -lt $end ] || { echo "waited in vain for the browser:"; cat "$folder.log"; return 1; }
        pause 0.05
    done
    { read -r how; cat; } <"$ask.said"
    [ "$how" = held ]
}

# page_of WHAT FILE [MORE]: what tests/page/page.cjs finds in it.
page_of() {
    grep -q 'uPlot=function' "$2" || skip "the program was built without uPlot"
    looked_at page "$1" "$(realpath "$2")" "${@:3}"
}

# page WHAT [MORE]: of report.html.
page() { page_of "$1" report.html "${@:2}"; }

# memory_page WHAT FILE [MORE...]: what tests/page/memory.cjs finds in the page of a memory snapshot.
memory_page() { looked_at memory "$1" "$(realpath "$2")" "${@:3}"; }

# live_page WHAT [MORE...]: what tests/page/live.cjs finds in the pages at $URL.
live_page() { looked_at live "$@"; }
