/* fingerprint: the code and software of experiments, as in machine.json, and its differences. */
#ifndef TARE_RUN_ENVIRONMENT_FINGERPRINT_H
#define TARE_RUN_ENVIRONMENT_FINGERPRINT_H

#include "results/store/store.h"

/* [{"path": working folder, "script", "files": [{"path", "sha256"}], "complete"}] for every script
 * of the plan with its local modules (plan/script_files.h); "complete": no file was left out.
 * environment: of jobs. A new reference. */
json_t *fingerprint_code_json(const struct plan *plan, const struct strv *environment);

/* [{"path", "version", "packages"}] for every interpreter of the plan, each started once as a job;
 * null for others than Python. A new reference. */
json_t *fingerprint_interpreters_json(const struct plan *plan,
                                      const struct containment *containment,
                                      const struct strv *environment);

/* "train.py changed, numpy 1.26.4 became 2.0.0"; NULL: no known difference. The caller frees. */
char *fingerprint_difference(const struct plan_experiment *experiment,
                             const struct machine_record *before, const struct machine_record *now);

/* Inode change time of the first changed file (CLOCK_REALTIME); 0: unknown, because a file is
 * missing. */
int64_t fingerprint_change_ns(const struct plan_experiment *experiment,
                              const struct machine_record *before,
                              const struct machine_record *now);

/* The first Python of the command, else argv[0]. Borrowed; NULL: no command. */
const char *fingerprint_find_interpreter(const struct strv *argv);

/* "numpy==1.26.4" for "numpy-1.26.4.dist-info" and "numpy-1.26.4-py3.11.egg-info"; "numpy==" for
 * "numpy.egg-info". False: another name. The caller frees. */
bool fingerprint_parse_package(const char *folder, char **out);

#endif
