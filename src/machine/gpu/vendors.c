/* The vendors that this program knows. A test builds the program with a list of its own
 * (tests/fake), so nothing else is in this file. Another one is declared here, too. */
#include "machine/gpu/vendor.h"

const struct gpu_vendor *const gpu_vendors[] = {&gpu_vendor_nvidia, NULL};
