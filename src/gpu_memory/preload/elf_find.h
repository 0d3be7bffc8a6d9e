/* elf_find: a function of a loaded library, found in its own symbol table and not by dlsym(3),
 * which is what is to be found. A file of its own: tests/gpu/memlimit.py compares the driver's
 * functions with ours by it. */
#ifndef TARE_GPU_MEMORY_PRELOAD_ELF_FIND_H
#define TARE_GPU_MEMORY_PRELOAD_ELF_FIND_H

/* In the first loaded object whose file name begins with one of these (NULL ends) and that defines
 * it; of several versions of the symbol the default one. NULL: nowhere. */
void *elf_find(const char *const objects[], const char *symbol);

#endif
