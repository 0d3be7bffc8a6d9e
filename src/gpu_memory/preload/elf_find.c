#include "gpu_memory/preload/elf_find.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct search {
    const char *const *objects;
    const char *symbol;
    void *found;
};

struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *gnu_hash;
    const ElfW(Half) * versions; /* NULL: none */
};

/* Not strncmp: a sanitizer that replaces it finds the real one by dlsym, and so through this
 * file. */
static bool name_begins_with(const char *text, const char *with)
{
    while (*with && *text == *with) {
        text++;
        with++;
    }
    return !*with;
}

static bool is_searched_object(const struct search *search, const char *path)
{
    const char *name = path;
    for (const char *at = path; *at; at++)
        name = *at == '/' ? at + 1 : name;
    for (size_t i = 0; search->objects[i]; i++)
        if (name_begins_with(name, search->objects[i]))
            return true;
    return false;
}

/* glibc writes addresses into the dynamic section where the file had offsets; musl leaves them. */
static const void *address_of(ElfW(Addr) base, ElfW(Addr) value)
{
    return (const void *)(value < base ? value + base : value);
}

static struct tables tables_of(ElfW(Addr) base, const ElfW(Dyn) * dynamic)
{
    struct tables out = {0};
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        const void *value = address_of(base, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_SYMTAB)
            out.symbols = value;
        else if (dynamic->d_tag == DT_STRTAB)
            out.names = value;
        else if (dynamic->d_tag == DT_GNU_HASH)
            out.gnu_hash = value;
        else if (dynamic->d_tag == DT_VERSYM)
            out.versions = value;
    }
    return out;
}

static bool is_it(const struct tables *tables, uint32_t number, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[number];
    enum { HIDDEN = 0x8000 }; /* a version that only old programs ask for */
    if (tables->versions && (tables->versions[number] & HIDDEN))
        return false;
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
           name_begins_with(tables->names + symbol->st_name, name) &&
           name_begins_with(name, tables->names + symbol->st_name);
}

/* The GNU hash table: counts, a Bloom filter (not needed for one look-up), buckets, then the
 * chains, whose ends have bit 0 set. */
static const ElfW(Sym) * find_symbol(const struct tables *tables, const char *name)
{
    uint32_t hash = 5381;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    const uint32_t *head = tables->gnu_hash;
    uint32_t buckets = head[0], first = head[1], words = head[2];
    const uint32_t *bucket = head + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t number = buckets ? bucket[hash % buckets] : 0;
    if (number < first)
        return NULL;
    for (;; number++) {
        uint32_t seen = chain[number - first];
        if ((seen | 1) == (hash | 1) && is_it(tables, number, name))
            return &tables->symbols[number];
        if (seen & 1)
            return NULL;
    }
}

static bool search_object(struct search *search, const char *path, ElfW(Addr) base,
                          const ElfW(Dyn) * dynamic)
{
    if (!path || !is_searched_object(search, path))
        return false;
    struct tables tables = tables_of(base, dynamic);
    if (!tables.symbols || !tables.names || !tables.gnu_hash)
        return false;
    const ElfW(Sym) *symbol = find_symbol(&tables, search->symbol);
    if (symbol)
        search->found = (void *)(base + symbol->st_value);
    return symbol;
}

#ifdef __GLIBC__
/* Not dl_iterate_phdr, which ThreadSanitizer replaces. The C library stands among the first, and
 * objects that are loaded meanwhile come behind. */
void *elf_find(const char *const objects[], const char *symbol)
{
    struct search search = {objects, symbol, NULL};
    for (const struct link_map *at = _r_debug.r_map; at && !search.found; at = at->l_next)
        search_object(&search, at->l_name, at->l_addr, at->l_ld);
    return search.found;
}
#else
static int search_phdr(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return search_object(context, info->dlpi_name, info->dlpi_addr, dynamic);
}

void *elf_find(const char *const objects[], const char *symbol)
{
    struct search search = {objects, symbol, NULL};
    dl_iterate_phdr(search_phdr, &search);
    return search.found;
}
#endif
