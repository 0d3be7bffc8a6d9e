#include "cli/exec_marks.h"

#include "base/clock.h"
#include "base/mem.h"
#include "meter/mark_fifo.h"
#include "meter/marks.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE  "TARE_MARKS"
#define FIFO_NAME "marks"

enum { DRAIN_READS_MAX = 16 };

struct exec_marks {
    char *folder;
    int dir;
    struct mark_fifo *fifo;
    struct marks marks;
    struct measuring *measuring; /* while it takes */
};

/* The user's own folder of this login goes with the login, should we be killed; else beside other temporary files. */
static char *make_folder(const struct strv *environment, struct err *err)
{
    static const char *const names[] = {"XDG_RUNTIME_DIR", "TMPDIR", NULL};
    for (size_t i = 0;; i++) {
        const char *parent = names[i] ? strv_env_get(environment, names[i]) : "/tmp";
        AUTO_FREE char *path = mem_printf("%s/" TARE_NAME "-exec-XXXXXX", parent ? parent : "");
        if (parent && parent[0] == '/' && mkdtemp(path))
            return steal_ptr(path);
        if (!names[i]) {
            err_sys(err, "make a folder for marks in %s", parent);
            return NULL;
        }
    }
}

struct exec_marks *exec_marks_new(struct strv *environment, struct err *err)
{
    const char *other = strv_env_get(environment, VARIABLE);
    if (other && *other)
        return NULL;
    struct exec_marks *marks = mem_alloc(sizeof *marks);
    *marks = (struct exec_marks){.folder = make_folder(environment, err), .dir = -1};
    if (marks->folder) {
        marks->dir = open(marks->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (marks->dir < 0)
            err_sys(err, "open folder %s", marks->folder);
        else
            marks->fifo = mark_fifo_new(marks->dir, FIFO_NAME, (uid_t)-1, err);
    }
    if (!marks->fifo) {
        exec_marks_free(marks);
        return NULL;
    }
    AUTO_FREE char *path = mem_printf("%s/" FIFO_NAME, marks->folder);
    strv_env_set(environment, VARIABLE, path);
    return marks;
}

void exec_marks_free(struct exec_marks *marks)
{
    if (!marks)
        return;
    mark_fifo_free(marks->fifo);
    if (marks->dir >= 0)
        close(marks->dir);
    if (marks->folder)
        rmdir(marks->folder);
    marks_fini(&marks->marks);
    free(marks->folder);
    free(marks);
}

int exec_marks_fd(const struct exec_marks *marks)
{
    return marks ? mark_fifo_fd(marks->fifo) : -1;
}

static void take(void *context, const struct mark *mark)
{
    struct exec_marks *marks = context;
    if (marks_take(&marks->marks, mark, clock_monotonic_ns()) == MARK_TAKEN)
        measuring_mark(marks->measuring, mark);
}

void exec_marks_take(struct exec_marks *marks, struct measuring *measuring, bool last)
{
    if (!marks || !measuring)
        return;
    int64_t now_ns = clock_monotonic_ns();
    marks->measuring = measuring;
    bool all = mark_fifo_read(marks->fifo, now_ns, take, marks);
    /* Bounded: a process that is none of the command's may write for ever. */
    for (int i = 0; last && !all && i < DRAIN_READS_MAX; i++)
        all = mark_fifo_read(marks->fifo, now_ns, take, marks);
    if (last)
        mark_fifo_end(marks->fifo, take, marks);
    marks_clear(&marks->marks);
}

char *exec_marks_doubt(const struct exec_marks *marks)
{
    uint64_t refused = marks ? mark_fifo_refused(marks->fifo) : 0, limited = marks ? marks->marks.counts.limited : 0;
    if (refused == 0 && limited == 0)
        return NULL;
    if (limited == 0)
        return mem_printf("%llu lines in $" VARIABLE " were no marks", (unsigned long long)refused);
    return mem_printf("%llu marks too many were left out, and %llu lines in $" VARIABLE " were none",
                      (unsigned long long)limited, (unsigned long long)refused);
}
