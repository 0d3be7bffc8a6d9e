/* A program that says where its epochs are: cc -I include -o epochs examples/marks/epochs.c; tare
 * runs it like any training. Each epoch is some arithmetic and a validation, marked by a name of
 * its own. */
#include <tare/mark.h>

static double work(long steps)
{
    double x = 0.5;
    for (long i = 0; i < steps; i++)
        x = 3.7 * x * (1 - x);
    return x;
}

int main(int argc, char **argv)
{
    int epochs = argc > 1 ? atoi(argv[1]) : 3;
    for (int epoch = 1; epoch <= epochs; epoch++) {
        char label[16];
        snprintf(label, sizeof label, "%d", epoch);
        tare_mark("epoch", label);
        double loss = work(2000000);
        tare_mark("validation", label);
        double accuracy = work(500000);
        tare_mark_end("validation", label);
        printf("loss %.4f, accuracy %.4f\n", loss, accuracy);
    }
    return 0;
}
