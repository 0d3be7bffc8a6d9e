# The page of a run, looked at in a browser.

# page WHAT [MORE]: what tests/page/page.cjs finds in report.html.
page() {
    local what=$1
    shift
    [ -z "${TARE_SANITIZED:-}" ] || skip "the browser sees the same page without sanitizers"
    command -v node >/dev/null || skip "node is missing"
    [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "chromium is missing"
    [ -d "$ROOT/node_modules/playwright-core" ] || skip "node_modules/playwright-core is missing (tools/setup.sh check fetches it)"
    grep -q 'uPlot=function' report.html || skip "the program was built without uPlot"
    node "$ROOT/tests/page/page.cjs" "$what" report.html "$@"
}
