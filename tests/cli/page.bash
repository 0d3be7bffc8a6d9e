# The page of a run, looked at in a browser.

# page_of WHAT FILE [MORE]: what tests/page/page.cjs finds in it.
page_of() {
    [ -z "${TARE_SANITIZED:-}" ] || skip "the browser sees the same page without sanitizers"
    command -v node >/dev/null || skip "node is missing"
    [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "chromium is missing"
    [ -d "$ROOT/node_modules/playwright-core" ] || skip "node_modules/playwright-core is missing (tools/setup.sh check fetches it)"
    grep -q 'uPlot=function' "$2" || skip "the program was built without uPlot"
    local browser=$BATS_FILE_TMPDIR/browser # one for all tests of the file
    if mkdir "$browser" 2>/dev/null; then
        node "$ROOT/tests/page/page.cjs" serve "$browser" </dev/null >"$browser.log" 2>&1 3>&- &
        disown
    fi
    wait_until test -e "$browser/address" || cat "$browser.log"
    BROWSER=$(cat "$browser/address") node "$ROOT/tests/page/page.cjs" "$@"
}

# page WHAT [MORE]: of report.html.
page() {
    local what=$1
    shift
    page_of "$what" report.html "$@"
}
