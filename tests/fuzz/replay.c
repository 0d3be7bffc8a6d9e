/* Runs a fuzz target over the files of folders, for compilers without libFuzzer. */
#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        perror(path);
        return 1;
    }
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        AUTO_TEXT struct text text = {0};
        if (!fs_read_at(dirfd(folder), entry->d_name, 1 << 24, &text, NULL))
            continue;
        /* An exact copy, so that the address sanitizer sees the first byte read behind it. */
        AUTO_FREE uint8_t *data = mem_alloc(text.length);
        for (size_t i = 0; i < text.length; i++)
            data[i] = (uint8_t)text.data[i];
        LLVMFuzzerTestOneInput(data, text.length);
        count++;
    }
    closedir(folder);
    printf("%s: %zu inputs\n", path, count);
    return count ? 0 : 1;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        if (argv[i][0] != '-')
            failed |= run_folder(argv[i]);
    return failed;
}
