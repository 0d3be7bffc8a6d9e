/* A grid on a terminal, by ncurses. */
#include "session/watch.h"

#include "base/mem.h"
#include "report/live/width.h"

#define NCURSES_NOMACROS
#include <curses.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

struct watch_screen {
    SCREEN *terminal;
    WINDOW *window;
    FILE *in, *out;
    size_t rows, columns;
    bool colour;
};

enum { PAIR_GREEN = 1, PAIR_YELLOW, PAIR_RED, PAIR_CYAN, PAIR_MAGENTA };

static const struct {
    attr_t attributes;
    short pair;
} styles[GRID_STYLES] = {
    [GRID_PLAIN] = {A_NORMAL, 0},          [GRID_DIM] = {A_DIM, 0},
    [GRID_STRONG] = {A_BOLD, 0},           [GRID_GOOD] = {A_NORMAL, PAIR_GREEN},
    [GRID_WARN] = {A_NORMAL, PAIR_YELLOW}, [GRID_BAD] = {A_BOLD, PAIR_RED},
    [GRID_POWER] = {A_NORMAL, PAIR_CYAN},  [GRID_METRIC] = {A_NORMAL, PAIR_MAGENTA},
};

/* For a handler: the only way to it. */
static struct termios terminal_before;
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* A crash must not leave the terminal unusable: restores the main screen, the cursor, colours
 * (xterm's control sequences) and the modes. */
static void restore_terminal(int number)
{
    static const char sequence[] = "\033[0m\033[?1l\033>\033[?1049l\033[?25h";
    ssize_t written = write(STDOUT_FILENO, sequence, sizeof sequence - 1);
    (void)written;
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
    raise(number);
}

static void catch_faults(bool on)
{
    struct sigaction action = {.sa_handler = on ? restore_terminal : SIG_DFL,
                               .sa_flags = (int)SA_RESETHAND};
    EACH_OF (fault, faults)
        sigaction(*fault, &action, NULL);
}

static void set_colours(struct watch_screen *screen)
{
    static const short of_pair[] = {[PAIR_GREEN] = COLOR_GREEN,
                                    [PAIR_YELLOW] = COLOR_YELLOW,
                                    [PAIR_RED] = COLOR_RED,
                                    [PAIR_CYAN] = COLOR_CYAN,
                                    [PAIR_MAGENTA] = COLOR_MAGENTA};
    screen->colour = screen->colour && start_color() == OK && has_colors();
    if (!screen->colour)
        return;
    short background = use_default_colors() == OK ? -1 : COLOR_BLACK;
    for (short pair = PAIR_GREEN; pair <= PAIR_MAGENTA; pair++)
        init_pair(pair, of_pair[pair], background);
}

static FILE *stream_of(int fd, const char *mode)
{
    int own = dup(fd);
    FILE *out = own >= 0 ? fdopen(own, mode) : NULL;
    if (!out && own >= 0)
        close(own);
    return out;
}

struct watch_screen *watch_screen_new(bool colour, struct err *err)
{
    struct watch_screen *screen = mem_alloc(sizeof *screen);
    *screen = (struct watch_screen){
        .colour = colour, .in = stream_of(STDIN_FILENO, "r"), .out = stream_of(STDOUT_FILENO, "w")};
    bool known = screen->in && screen->out && tcgetattr(STDIN_FILENO, &terminal_before) == 0;
    screen->terminal = known ? newterm(NULL, screen->out, screen->in) : NULL;
    if (!screen->terminal) {
        const char *term = getenv("TERM");
        err_set(err, "the terminal (TERM=%s) cannot be drawn on; --once prints plain text",
                term ? term : "");
        watch_screen_free(screen);
        return NULL;
    }
    catch_faults(true);
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    screen->window = newwin(0, 0, 0, 0);
    set_colours(screen);
    keypad(screen->window, TRUE);
    nodelay(screen->window, TRUE);
    watch_screen_fit(screen);
    return screen;
}

void watch_screen_free(struct watch_screen *screen)
{
    if (!screen)
        return;
    if (screen->terminal) {
        /* tmux keeps rows of a screen that has grown when the main one comes back: blank ones. */
        werase(screen->window);
        wrefresh(screen->window);
        endwin();
        catch_faults(false);
        delwin(screen->window);
        delscreen(screen->terminal);
    }
    if (screen->in)
        fclose(screen->in);
    if (screen->out)
        fclose(screen->out);
    free(screen);
}

void watch_screen_fit(struct watch_screen *screen)
{
    screen->rows = height_of_terminal(STDOUT_FILENO);
    screen->columns = width_of_terminal(STDOUT_FILENO);
    resizeterm((int)screen->rows, (int)screen->columns);
    wresize(screen->window, (int)screen->rows, (int)screen->columns);
    clearok(screen->window, TRUE);
}

void watch_screen_size(const struct watch_screen *screen, size_t *rows, size_t *columns)
{
    *rows = screen->rows;
    *columns = screen->columns;
}

static void set_style(struct watch_screen *screen, const struct grid_cell *cell)
{
    attr_t attributes = cell->chosen ? A_REVERSE : styles[cell->style].attributes;
    wattr_set(screen->window, attributes,
              screen->colour && !cell->chosen ? styles[cell->style].pair : 0, NULL);
}

void watch_screen_show(struct watch_screen *screen, const struct grid *grid)
{
    AUTO_TEXT struct text run = {0};
    werase(screen->window);
    for (size_t row = 0; row < grid->rows; row++) {
        const struct grid_cell *cells = &grid->cells[row * grid->columns];
        for (size_t i = 0; i < grid->columns;) {
            size_t from = i;
            text_clear(&run);
            for (; i < grid->columns && cells[i].style == cells[from].style &&
                   cells[i].chosen == cells[from].chosen;
                 i++)
                text_add(&run, cells[i].text);
            set_style(screen, &cells[from]);
            wmove(screen->window, (int)row, (int)from);
            waddnstr(screen->window, text_get(&run), (int)run.length);
        }
    }
    wrefresh(screen->window);
}

int watch_screen_key(struct watch_screen *screen)
{
    static const int keys[][2] = {
        {KEY_UP, KEY_OF_UP},         {KEY_DOWN, KEY_OF_DOWN},
        {KEY_PPAGE, KEY_OF_PAGE_UP}, {KEY_NPAGE, KEY_OF_PAGE_DOWN},
        {KEY_HOME, KEY_OF_FIRST},    {KEY_END, KEY_OF_LAST},
        {KEY_BTAB, KEY_OF_BACK_TAB}, {KEY_BACKSPACE, KEY_OF_BACKSPACE},
        {'\b', KEY_OF_BACKSPACE},    {0x7f, KEY_OF_BACKSPACE},
        {KEY_ENTER, KEY_OF_ENTER},   {'\r', KEY_OF_ENTER},
        {'\n', KEY_OF_ENTER},        {0x1b, KEY_OF_ESCAPE},
    };
    int key = wgetch(screen->window);
    EACH_OF (item, keys)
        if (key == (*item)[0])
            return (*item)[1];
    return key == ERR ? -1 : key < 0x100 ? key : 0;
}
