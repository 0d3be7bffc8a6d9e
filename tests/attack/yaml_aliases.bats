#!/usr/bin/env bats
# Settings in YAML that somebody else wrote: the time to read them grows with their length, however many anchors and aliases are in them.
load ../cli/runs

# read_within_3_s: the settings are refused for what is missing in them, not for their length.
read_within_3_s() {
    local status=0
    (ulimit -t 3; exec "$TARE" run settings.yaml -c settings.yaml --dry-run) >out 2>&1 || status=$?
    cut -c 1-300 out
    is "$status" 2
    grep -q "^settings.yaml:1:1: error: 'experiments' is missing" out
}

@test "120000 anchors and as many aliases of the first one are read within 3 s of CPU time" {
    python3 - <<'END'
with open("settings.yaml", "w") as out:
    out.write("anchors:\n" + "".join("- &x%d %d\n" % (n, n) for n in range(120000)))
    out.write("aliases: [" + ", ".join(["*x0"] * 120000) + "]\n")
END
    read_within_3_s
}

@test "so are as many anchors of one name" {
    python3 - <<'END'
with open("settings.yaml", "w") as out:
    out.write("first: &first 1\nanchors:\n" + "- &x 2\n- *x\n- *first\n" * 120000)
END
    read_within_3_s
}
