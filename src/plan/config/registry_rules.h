/* registry_rules: when a training of a repository has succeeded, besides its exit code and the
 * patterns. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_RULES_H
#define TARE_PLAN_CONFIG_REGISTRY_RULES_H

#include "plan/config/registry.h"
#include "plan/config/registry_repo.h"

struct registry_mark registry_mark_copy(const struct registry_mark *mark);
void registry_marks_fini(struct registry_mark *marks, size_t count); /* frees the array too */

struct success_rules repo_rules(const struct repo *repo, const char *model);

/* {metrics, fail_on, cpu_only, reads_checkpoints}: a new reference. From NULL come rules that ask
 * for nothing. */
json_t *success_rules_to_json(const struct success_rules *rules);
struct success_rules success_rules_from_json(const json_t *json);

void registry_read_rules(const struct source *source, const char *path, const json_t *json,
                         struct repo *out);

void registry_rules_fini(struct repo *repo);

/* A name that is none of the repository's models is reported. */
void registry_check_model(const struct source *source, const char *path, const char *key,
                          const char *model, const struct repo *repo);

void registry_read_marks(const struct source *source, const char *path, const json_t *json,
                         struct repo *out);

#endif
