/* reading_folders: what audit, stats, compare and export begin with. */
#ifndef TARE_SESSION_READING_FOLDERS_H
#define TARE_SESSION_READING_FOLDERS_H

#include "results/judge/dataset.h"
#include "session/command.h"

/* Reads the folders and judges them. An exit code; CLI_OK: out is to be freed. What is wrong was said. */
int reading_folders(char *const *paths, size_t count, struct dataset *out);

/* The number of --carbon-intensity, grams of CO2e per kWh; not given: not valid. False: it is no such number (err). */
bool reading_carbon(const struct cli_value *value, struct reading *g_per_kwh, struct err *err);

#endif
