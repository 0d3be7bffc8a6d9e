#include "planted.h"

#include <stdio.h>

double fake_planted(const struct fake_scenario *of, const char *what, int gpu)
{
    char path[FAKE_PATH + 64];
    double number = 0;
    if (!of->users[0])
        return 0;
    snprintf(path, sizeof path, "%s/%s%d", of->users, what, gpu);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lf", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}
