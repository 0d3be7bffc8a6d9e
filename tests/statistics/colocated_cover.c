/* The energy that a foreground added, from the readings of parallel_cover.py. A line of input:
 * joules, half-width and seconds of the background alone, then of both, and the powers of ten
 * slices alone. A line of output: the estimate, its half-width, and 1 where it is separable. */
#include "measure/colocated.h"

#include <stdio.h>

int main(void)
{
    double alone_j, alone_half_j, alone_s, both_j, both_half, both_s, slices_w[COLOCATED_SLICES];
    while (scanf("%lf %lf %lf %lf %lf %lf", &alone_j, &alone_half_j, &alone_s, &both_j, &both_half,
                 &both_s) == 6) {
        struct colocated_alone alone;
        struct colocated_marginal marginal;
        for (int i = 0; i < COLOCATED_SLICES; i++)
            if (scanf("%lf", &slices_w[i]) != 1)
                return 1;
        colocated_alone(alone_j, alone_half_j, alone_s, slices_w, COLOCATED_SLICES, &alone);
        colocated_marginal(both_j, both_half, both_s, &alone, &marginal);
        printf("%.9g %.9g %d\n", marginal.joules, marginal.half_width_j, marginal.is_separable);
    }
    return 0;
}
