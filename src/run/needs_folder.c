/* What the disk tells: data, a clone's commit, and room for what is to be fetched. */
#include "run/needs_private.h"

#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { LONGEST_REF = 4096, LONGEST_PACKED = 16 << 20, SHA1_DIGITS = 40, SHA256_DIGITS = 64 };

/* The commit at the beginning of text, or NULL. */
static char *commit_of(const char *text)
{
    size_t length = strspn(text, "0123456789abcdef");
    return length == SHA1_DIGITS || length == SHA256_DIGITS ? mem_strndup(text, length) : NULL;
}

static bool read_file(const char *folder, const char *name, size_t limit, struct text *out)
{
    AUTO_FREE char *path = mem_printf("%s/.git/%s", folder, name);
    return fs_read(path, limit, out, NULL);
}

/* Lines "COMMIT REF"; others are comments. */
static char *find_packed(const char *text, const char *ref)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *blank = line + strspn(line, "0123456789abcdef");
        size_t length = strcspn(line, "\n");
        size_t name = strlen(ref);
        if (*blank == ' ' && (size_t)(blank + 1 - line) + name == length && strncmp(blank + 1, ref, name) == 0)
            return commit_of(line);
    }
    return NULL;
}

char *needs_commit(const char *folder)
{
    static const char pointer[] = "ref: ";
    AUTO_TEXT struct text head = {0}, loose = {0}, packed = {0};
    if (!read_file(folder, "HEAD", LONGEST_REF, &head))
        return NULL;
    if (strncmp(text_get(&head), pointer, sizeof pointer - 1) != 0)
        return commit_of(text_get(&head));
    const char *at = text_get(&head) + sizeof pointer - 1;
    AUTO_FREE char *ref = mem_strndup(at, strcspn(at, "\r\n"));
    if (strncmp(ref, "refs/", 5) != 0 || strstr(ref, ".."))
        return NULL;
    if (read_file(folder, ref, LONGEST_REF, &loose))
        return commit_of(text_get(&loose));
    return read_file(folder, "packed-refs", LONGEST_PACKED, &packed) ? find_packed(text_get(&packed), ref) : NULL;
}

char *needs_wrong_with(const char *path)
{
    struct stat at;
    if (stat(path, &at) != 0)
        return errno == ENOENT || errno == ENOTDIR ? mem_strdup("not there")
                                                   : mem_printf("cannot be seen: %s", strerror(errno));
    if (!S_ISDIR(at.st_mode))
        return S_ISREG(at.st_mode) && at.st_size == 0 ? mem_strdup("the file is empty") : NULL;
    DIR *folder = opendir(path);
    if (!folder)
        return mem_printf("cannot be read: %s", strerror(errno));
    bool filled = false;
    for (const struct dirent *entry; !filled && (entry = readdir(folder));)
        filled = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return filled ? NULL : mem_strdup("the folder is empty");
}

/* The folder itself, or the nearest above it that is there. The caller frees it. */
static char *nearest_folder(const char *path)
{
    char *folder = mem_strdup(path);
    while (!fs_is_folder(folder) && strcmp(folder, "/") != 0 && strcmp(folder, ".") != 0) {
        char *above = fs_dirname(folder);
        free(folder);
        folder = above;
    }
    return folder;
}

void needs_add_disk(struct needs *needs, const char *path, uint64_t bytes)
{
    AUTO_FREE char *folder = nearest_folder(path);
    struct stat at;
    struct statvfs room;
    if (bytes == 0 || stat(folder, &at) != 0 || statvfs(folder, &room) != 0)
        return;
    for (size_t i = 0; i < needs->disk_count; i++) {
        if (needs->disks[i].device != at.st_dev)
            continue;
        needs->disks[i].fetch_bytes += bytes;
        return;
    }
    needs->disks = mem_room(needs->disks, needs->disk_count, &needs->disk_capacity, sizeof *needs->disks);
    needs->disks[needs->disk_count++] = (struct disk_need){.device = at.st_dev,
                                                           .path = steal_ptr(folder),
                                                           .fetch_bytes = bytes,
                                                           .free_bytes = (uint64_t)room.f_bavail * room.f_frsize};
}

bool disk_need_fits(const struct disk_need *disk)
{
    return disk->fetch_bytes <= disk->free_bytes;
}
