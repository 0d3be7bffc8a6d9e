/* provenance: from what state of which repository, and by which interpreter, a plan's jobs run. Private to run/. */
#ifndef TARE_RUN_PROVENANCE_H
#define TARE_RUN_PROVENANCE_H

#include "base/strv.h"
#include "machine/contain/contain.h"
#include "plan/plan.h"

#include <jansson.h>

/* [{name, path, commit, dirty}] of every repository of the plan, in its order. commit and dirty (a tracked file, or the commit of a
 * submodule, differs) are null where git does not say: no repository, no git, too slow, or a folder of another user's. git and
 * interpreters are found and run with this environment, each as a job of its own; no program that a repository's own
 * configuration names is started. */
json_t *provenance_repositories(const struct plan *plan, const struct containment *containment, const struct strv *environment);

/* [{path, version, packages}] of every interpreter. version and packages (["numpy==1.26.4", ...] by the names of
 * the folders that pip leaves) for Python; else null. */
json_t *provenance_interpreters(const struct plan *plan, const struct containment *containment, const struct strv *environment);

/* The interpreter of a command: its first word that is a Python, else argv[0]. Borrowed; NULL: no command. */
const char *provenance_interpreter(const struct strv *argv);

/* "numpy==1.26.4" for "numpy-1.26.4.dist-info"; false for other names. The caller frees it. */
bool provenance_package(const char *folder, char **out);

#endif
