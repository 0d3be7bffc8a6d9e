/* fingerprint: with which code and in which environment the experiments of a session run, as its
 * machine.json says, and which results of earlier sessions had another one. */
#ifndef TARE_RUN_ENVIRONMENT_FINGERPRINT_H
#define TARE_RUN_ENVIRONMENT_FINGERPRINT_H

#include "results/store/store.h"

/* [{"path": the working folder, "script", "files": [{"path", "sha256"}], "complete"}] of every
 * script of the plan: itself and the local modules that it imports, found as text
 * (plan/script_files.h). A file is named from the working folder where it is below it. "complete"
 * is false where more files than are read belong to it. environment: what jobs inherit. A new
 * reference. */
json_t *fingerprint_code_json(const struct plan *plan, const struct strv *environment);

/* [{"path", "version", "packages"}] of every interpreter of the plan; for Python the version and
 * ["numpy==1.26.4", ...] as importlib.metadata finds them, else null. Each is started once with a
 * fixed question, as a job of its own. A new reference. */
json_t *fingerprint_interpreters_json(const struct plan *plan,
                                      const struct containment *containment,
                                      const struct strv *environment);

/* What of an experiment differs between two machine.json: "train.py changed, numpy 1.26.4 became
 * 2.0.0". Fresh; NULL: nothing that both know. */
char *fingerprint_difference(const struct plan_experiment *experiment, const json_t *before,
                             const json_t *now);

/* When the first of the files that differ was changed, by its inode (CLOCK_REALTIME); 0: one of
 * them is gone, so that the time is unknown. */
int64_t fingerprint_change_ns(const struct plan_experiment *experiment, const json_t *before,
                              const json_t *now);

/* The interpreter of a command: its first word that is a Python, else argv[0]. Borrowed; NULL: no
 * command. */
const char *fingerprint_find_interpreter(const struct strv *argv);

/* "numpy==1.26.4" for "numpy-1.26.4.dist-info" and "numpy-1.26.4-py3.11.egg-info"; "numpy==" for
 * "numpy.egg-info", which does not name a version. False for other names. The caller frees it. */
bool fingerprint_parse_package(const char *folder, char **out);

#endif
