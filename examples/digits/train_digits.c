/* train-digits: trains a multi-layer perceptron (64 pixels, one hidden layer with ReLU and dropout,
 * 10 classes) on the UCI handwritten digits by plain mini-batch SGD on the cross-entropy, and
 * prints what it achieved. See README.md. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 64, CLASSES = 10, TEST_EVERY = 5, HIDDEN_MAX = 4096, IMAGES_MAX = 100000 };

struct options {
    long epochs, batch_size, hidden, seed;
    double lr, dropout, weight_decay;
    const char *data;
};

struct image {
    float pixels[PIXELS];
    int class;
};

struct images {
    struct image *items;
    size_t count;
};

/* w1[h * PIXELS + p], w2[c * hidden + h] */
struct network {
    size_t hidden;
    float *w1, *b1, *w2, *b2;
};

/* One image's way through the network. */
struct pass {
    float *hidden;
    float *mask; /* 0, or 1 / (1 - dropout) */
    float scores[CLASSES];
};

static uint64_t random_state;

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t random_next(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double random_unit(void)
{
    return (double)(random_next() >> 11) * 0x1p-53;
}

static void fail(const char *what, const char *thing)
{
    fprintf(stderr, "train-digits: %s: %s\n", thing, what);
    exit(1);
}

static float *floats(size_t count)
{
    float *made = calloc(count, sizeof *made);
    if (!made)
        fail(strerror(errno), "memory");
    return made;
}

static double number(const char *text, const char *flag, double low, double high)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= low && value <= high)) {
        fprintf(stderr, "train-digits: --%s %s: expected a number from %g to %g\n", flag, text, low,
                high);
        exit(2);
    }
    return value;
}

static long whole(const char *text, const char *flag, long low, long high)
{
    double value = number(text, flag, (double)low, (double)high);
    if (value != floor(value)) {
        fprintf(stderr, "train-digits: --%s %s: expected a whole number\n", flag, text);
        exit(2);
    }
    return (long)value;
}

static struct options read_options(int argc, char **argv)
{
    static const struct option rows[] = {
        {"epochs", required_argument, NULL, 'e'},
        {"lr", required_argument, NULL, 'l'},
        {"batch-size", required_argument, NULL, 'b'},
        {"dropout", required_argument, NULL, 'd'},
        {"weight-decay", required_argument, NULL, 'w'},
        {"hidden", required_argument, NULL, 'h'},
        {"seed", required_argument, NULL, 's'},
        {"data", required_argument, NULL, 'f'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {.epochs = 30,
                              .batch_size = 32,
                              .hidden = 128,
                              .seed = 1,
                              .lr = 0.1,
                              .dropout = 0.1,
                              .weight_decay = 1e-4,
                              .data = "digits.csv"};
    int letter;
    while ((letter = getopt_long(argc, argv, "", rows, NULL)) != -1) {
        switch (letter) {
        case 'e':
            options.epochs = whole(optarg, "epochs", 0, 1000000);
            break;
        case 'l':
            options.lr = number(optarg, "lr", 0, 100);
            break;
        case 'b':
            options.batch_size = whole(optarg, "batch-size", 1, IMAGES_MAX);
            break;
        case 'd':
            options.dropout = number(optarg, "dropout", 0, 0.95);
            break;
        case 'w':
            options.weight_decay = number(optarg, "weight-decay", 0, 10);
            break;
        case 'h':
            options.hidden = whole(optarg, "hidden", 1, HIDDEN_MAX);
            break;
        case 's':
            options.seed = whole(optarg, "seed", 0, 1L << 53);
            break;
        case 'f':
            options.data = optarg;
            break;
        default:
            exit(2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "train-digits: %s: unexpected argument\n", argv[optind]);
        exit(2);
    }
    return options;
}

static bool read_image(char *line, struct image *image)
{
    char *at = line;
    for (int i = 0; i <= PIXELS; i++) {
        char *end;
        long value = strtol(at, &end, 10);
        bool last = i == PIXELS;
        if (end == at || value < 0 || value > (last ? CLASSES - 1 : 16) || (!last && *end != ','))
            return false;
        if (last)
            image->class = (int)value;
        else
            image->pixels[i] = (float)value / 16.0f;
        at = end + 1;
    }
    return true;
}

static struct images read_images(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail(strerror(errno), path);
    struct images images = {calloc(IMAGES_MAX, sizeof *images.items), 0};
    if (!images.items)
        fail(strerror(errno), "memory");
    char line[1024];
    while (images.count < IMAGES_MAX && fgets(line, sizeof line, file))
        if (!read_image(line, &images.items[images.count++]))
            fail("a line that is no image (64 pixels of 0 to 16, then the class)", path);
    fclose(file);
    if (images.count < TEST_EVERY)
        fail("too few images", path);
    return images;
}

/* He initialisation (He et al. 2015), uniform. */
static void fill(float *weights, size_t count, size_t inputs)
{
    double bound = sqrt(6.0 / (double)inputs);
    for (size_t i = 0; i < count; i++)
        weights[i] = (float)((random_unit() * 2 - 1) * bound);
}

static struct network network_new(size_t hidden)
{
    struct network net = {hidden, floats(hidden * PIXELS), floats(hidden), floats(CLASSES * hidden),
                          floats(CLASSES)};
    fill(net.w1, hidden * PIXELS, PIXELS);
    fill(net.w2, CLASSES * hidden, hidden);
    return net;
}

static void network_free(struct network *net)
{
    free(net->w1);
    free(net->b1);
    free(net->w2);
    free(net->b2);
}

/* Gives the cross-entropy; scores become the softmax probabilities. dropout 0: as in the test. */
static double forward(const struct network *net, const struct image *image, double dropout,
                      struct pass *pass)
{
    for (size_t h = 0; h < net->hidden; h++) {
        const float *row = net->w1 + h * PIXELS;
        float sum = net->b1[h];
        for (int p = 0; p < PIXELS; p++)
            sum += row[p] * image->pixels[p];
        pass->mask[h] =
            dropout > 0 && random_unit() < dropout ? 0.0f : (float)(1.0 / (1.0 - dropout));
        pass->hidden[h] = sum > 0 ? sum * pass->mask[h] : 0.0f;
    }
    float highest = -INFINITY;
    for (int c = 0; c < CLASSES; c++) {
        float sum = net->b2[c];
        for (size_t h = 0; h < net->hidden; h++)
            sum += net->w2[(size_t)c * net->hidden + h] * pass->hidden[h];
        pass->scores[c] = sum;
        highest = fmaxf(highest, sum);
    }
    float total = 0;
    for (int c = 0; c < CLASSES; c++)
        total += pass->scores[c] = expf(pass->scores[c] - highest);
    for (int c = 0; c < CLASSES; c++)
        pass->scores[c] /= total;
    return -log(fmax((double)pass->scores[image->class], 1e-12));
}

/* Adds this image's gradient to grad. */
static void backward(const struct network *net, const struct image *image, const struct pass *pass,
                     struct network *grad)
{
    float delta[CLASSES];
    for (int c = 0; c < CLASSES; c++) {
        delta[c] = pass->scores[c] - (c == image->class ? 1.0f : 0.0f);
        grad->b2[c] += delta[c];
        for (size_t h = 0; h < net->hidden; h++)
            grad->w2[(size_t)c * net->hidden + h] += delta[c] * pass->hidden[h];
    }
    for (size_t h = 0; h < net->hidden; h++) {
        if (pass->hidden[h] <= 0)
            continue;
        float back = 0;
        for (int c = 0; c < CLASSES; c++)
            back += delta[c] * net->w2[(size_t)c * net->hidden + h];
        back *= pass->mask[h];
        grad->b1[h] += back;
        float *row = grad->w1 + h * PIXELS;
        for (int p = 0; p < PIXELS; p++)
            row[p] += back * image->pixels[p];
    }
}

/* One SGD step; the gradient is zero again afterwards. */
static void step(float *weights, float *grad, size_t count, double lr, double decay)
{
    for (size_t i = 0; i < count; i++) {
        weights[i] -= (float)(lr * ((double)grad[i] + decay * (double)weights[i]));
        grad[i] = 0;
    }
}

static void network_step(struct network *net, struct network *grad, double lr, double decay,
                         size_t batch)
{
    double rate = lr / (double)batch;
    double shared = decay * (double)batch; /* the penalty is per step, not per image */
    step(net->w1, grad->w1, net->hidden * PIXELS, rate, shared);
    step(net->b1, grad->b1, net->hidden, rate, 0);
    step(net->w2, grad->w2, CLASSES * net->hidden, rate, shared);
    step(net->b2, grad->b2, CLASSES, rate, 0);
}

static void shuffle(size_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)(random_next() % i);
        size_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* Mean cross-entropy over the training images. */
static double train_epoch(struct network *net, struct network *grad, const struct images *images,
                          size_t *order, size_t count, const struct options *options,
                          struct pass *pass)
{
    double loss = 0;
    shuffle(order, count);
    size_t batch = 0;
    for (size_t i = 0; i < count; i++) {
        const struct image *image = &images->items[order[i]];
        loss += forward(net, image, options->dropout, pass);
        backward(net, image, pass, grad);
        if (++batch == (size_t)options->batch_size || i + 1 == count) {
            network_step(net, grad, options->lr, options->weight_decay, batch);
            batch = 0;
        }
    }
    return loss / (double)count;
}

/* Percent of the test images that are named right; *loss: their mean cross-entropy. */
static double test(const struct network *net, const struct images *images, struct pass *pass,
                   double *loss)
{
    size_t right = 0, count = 0;
    *loss = 0;
    for (size_t i = 0; i < images->count; i += TEST_EVERY) {
        *loss += forward(net, &images->items[i], 0, pass);
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            if (pass->scores[c] > pass->scores[best])
                best = c;
        right += best == images->items[i].class;
        count++;
    }
    *loss /= (double)count;
    return 100.0 * (double)right / (double)count;
}

int main(int argc, char **argv)
{
    struct options options = read_options(argc, argv);
    struct images images = read_images(options.data);
    random_state = (uint64_t)options.seed;

    size_t *order = calloc(images.count, sizeof *order);
    if (!order)
        fail(strerror(errno), "memory");
    size_t count = 0;
    for (size_t i = 0; i < images.count; i++)
        if (i % TEST_EVERY)
            order[count++] = i;

    struct network net = network_new((size_t)options.hidden);
    struct network grad = {net.hidden, floats(net.hidden * PIXELS), floats(net.hidden),
                           floats(CLASSES * net.hidden), floats(CLASSES)};
    struct pass pass = {.hidden = floats(net.hidden), .mask = floats(net.hidden)};

    double loss, accuracy = test(&net, &images, &pass, &loss);
    for (long epoch = 1; epoch <= options.epochs; epoch++) {
        double train_loss = train_epoch(&net, &grad, &images, order, count, &options, &pass);
        accuracy = test(&net, &images, &pass, &loss);
        printf("epoch %ld/%ld: train loss %.4f, test accuracy %.2f %%\n", epoch, options.epochs,
               train_loss, accuracy);
        fflush(stdout);
    }
    printf("test loss: %.4f\ntest accuracy: %.2f %%\n", loss, accuracy);

    network_free(&net);
    network_free(&grad);
    free(pass.hidden);
    free(pass.mask);
    free(order);
    free(images.items);
    return isfinite(loss) ? 0 : 1;
}
