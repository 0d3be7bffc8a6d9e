/* Points are numbered from 1; above them stand blossoms, odd circles that are shrunk to one point. Each point and
 * blossom has a label in the search trees (outer, inner or none) and a dual variable; an edge is tight when the
 * duals of its ends are twice its weight. Each round grows the trees along tight edges from the points without a
 * mate, until a path between two trees can be turned over (a pair more) or no dual can change (the end). */
#include "sharing/schedule.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

enum label { FREE = -1, OUTER = 0, INNER = 1 };

struct edge {
    int u, v;
    int64_t weight;
};

struct blossom {
    int *items; /* its parts, along the circle, from its base */
    int count;
};

struct graph {
    int points, count; /* points and blossoms that there are; room for twice the points */
    int width;
    struct edge *edges; /* width x width */
    int64_t *dual;      /* of points and blossoms */
    int *mate;          /* the point at the other end of the matched edge; 0: none */
    int *slack;         /* the point from which the least slack edge comes; 0: none */
    int *top;           /* the outermost blossom that it is in; 0: not there */
    int *parent;        /* the point of the tree's edge towards its root */
    int *part;          /* width x width: which part of a blossom holds a point */
    int *label;
    int *seen; /* the round in which it was passed on the way up */
    int round;
    struct blossom *blossoms;
    int *queue;
    int head, tail;
};

static struct edge *edge_at(const struct graph *g, int u, int v)
{
    return &g->edges[u * g->width + v];
}

static int *part_at(const struct graph *g, int blossom, int point)
{
    return &g->part[blossom * g->width + point];
}

static int64_t slack_of(const struct graph *g, const struct edge *edge)
{
    return g->dual[edge->u] + g->dual[edge->v] - 2 * edge_at(g, edge->u, edge->v)->weight;
}

static void improve_slack(struct graph *g, int u, int x)
{
    if (!g->slack[x] || slack_of(g, edge_at(g, u, x)) < slack_of(g, edge_at(g, g->slack[x], x)))
        g->slack[x] = u;
}

static void find_slack(struct graph *g, int x)
{
    g->slack[x] = 0;
    for (int u = 1; u <= g->points; u++)
        if (edge_at(g, u, x)->weight > 0 && g->top[u] != x && g->label[g->top[u]] == OUTER)
            improve_slack(g, u, x);
}

static void enqueue(struct graph *g, int x)
{
    if (x <= g->points) {
        g->queue[g->tail++] = x;
        return;
    }
    for (int i = 0; i < g->blossoms[x].count; i++)
        enqueue(g, g->blossoms[x].items[i]);
}

static void set_top(struct graph *g, int x, int top)
{
    g->top[x] = top;
    if (x <= g->points)
        return;
    for (int i = 0; i < g->blossoms[x].count; i++)
        set_top(g, g->blossoms[x].items[i], top);
}

static void reverse(int *items, int from, int to)
{
    for (to--; from < to; from++, to--) {
        int item = items[from];
        items[from] = items[to];
        items[to] = item;
    }
}

static void rotate(struct blossom *blossom, int first)
{
    reverse(blossom->items, 0, first);
    reverse(blossom->items, first, blossom->count);
    reverse(blossom->items, 0, blossom->count);
}

/* The place of a part, counted so that the way from the base to it is of even length. */
static int even_place(struct graph *g, int x, int part)
{
    struct blossom *blossom = &g->blossoms[x];
    int place = 0;
    while (blossom->items[place] != part)
        place++;
    if (place % 2 == 0)
        return place;
    reverse(blossom->items, 1, blossom->count);
    return blossom->count - place;
}

static void set_mate(struct graph *g, int u, int v)
{
    struct edge edge = *edge_at(g, u, v);
    g->mate[u] = edge.v;
    if (u <= g->points)
        return;
    int part = *part_at(g, u, edge.u), place = even_place(g, u, part);
    for (int i = 0; i < place; i++)
        set_mate(g, g->blossoms[u].items[i], g->blossoms[u].items[i ^ 1]);
    set_mate(g, part, v);
    rotate(&g->blossoms[u], place);
}

/* Turns the path from u to its root over. */
static void augment(struct graph *g, int u, int v)
{
    for (;;) {
        int next = g->top[g->mate[u]];
        set_mate(g, u, v);
        if (!next)
            return;
        set_mate(g, next, g->top[g->parent[next]]);
        u = g->top[g->parent[next]];
        v = next;
    }
}

static int common_root(struct graph *g, int u, int v)
{
    g->round++;
    while (u || v) {
        if (u) {
            if (g->seen[u] == g->round)
                return u;
            g->seen[u] = g->round;
            u = g->top[g->mate[u]];
            if (u)
                u = g->top[g->parent[u]];
        }
        int other = u;
        u = v;
        v = other;
    }
    return 0;
}

static void add_part(struct blossom *blossom, int part)
{
    blossom->items[blossom->count++] = part;
}

static void add_way(struct graph *g, struct blossom *blossom, int from, int root)
{
    for (int x = from; x != root;) {
        add_part(blossom, x);
        int y = g->top[g->mate[x]];
        add_part(blossom, y);
        enqueue(g, y);
        x = g->top[g->parent[y]];
    }
}

/* The edges of the whole are the best of its parts'. */
static void take_edges(struct graph *g, int b)
{
    for (int x = 1; x <= g->count; x++)
        edge_at(g, b, x)->weight = edge_at(g, x, b)->weight = 0;
    for (int x = 1; x <= g->points; x++)
        *part_at(g, b, x) = 0;
    for (int i = 0; i < g->blossoms[b].count; i++) {
        int part = g->blossoms[b].items[i];
        for (int x = 1; x <= g->count; x++)
            if (edge_at(g, b, x)->weight == 0 || slack_of(g, edge_at(g, part, x)) < slack_of(g, edge_at(g, b, x))) {
                *edge_at(g, b, x) = *edge_at(g, part, x);
                *edge_at(g, x, b) = *edge_at(g, x, part);
            }
        for (int x = 1; x <= g->points; x++)
            if (part == x || (part > g->points && *part_at(g, part, x)))
                *part_at(g, b, x) = part;
    }
}

static void shrink(struct graph *g, int u, int root, int v)
{
    int b = g->points + 1;
    while (b <= g->count && g->top[b])
        b++;
    if (b > g->count)
        g->count++;
    struct blossom *blossom = &g->blossoms[b];
    g->dual[b] = 0;
    g->label[b] = OUTER;
    g->mate[b] = g->mate[root];
    blossom->count = 0;
    add_part(blossom, root);
    add_way(g, blossom, u, root);
    reverse(blossom->items, 1, blossom->count);
    add_way(g, blossom, v, root);
    set_top(g, b, b);
    take_edges(g, b);
    find_slack(g, b);
}

static void expand(struct graph *g, int b)
{
    struct blossom *blossom = &g->blossoms[b];
    for (int i = 0; i < blossom->count; i++)
        set_top(g, blossom->items[i], blossom->items[i]);
    int way_in = *part_at(g, b, edge_at(g, b, g->parent[b])->u), place = even_place(g, b, way_in);
    for (int i = 0; i < place; i += 2) {
        int inner = blossom->items[i], outer = blossom->items[i + 1];
        g->parent[inner] = edge_at(g, outer, inner)->u;
        g->label[inner] = INNER;
        g->label[outer] = OUTER;
        g->slack[inner] = 0;
        find_slack(g, outer);
        enqueue(g, outer);
    }
    g->label[way_in] = INNER;
    g->parent[way_in] = g->parent[b];
    for (int i = place + 1; i < blossom->count; i++) {
        g->label[blossom->items[i]] = FREE;
        find_slack(g, blossom->items[i]);
    }
    g->top[b] = 0;
}

/* Along a tight edge. True: a path was turned over. */
static bool take_edge(struct graph *g, const struct edge *edge)
{
    int u = g->top[edge->u], v = g->top[edge->v];
    if (g->label[v] == FREE) {
        int next = g->top[g->mate[v]];
        g->parent[v] = edge->u;
        g->label[v] = INNER;
        g->slack[v] = g->slack[next] = 0;
        g->label[next] = OUTER;
        enqueue(g, next);
    } else if (g->label[v] == OUTER) {
        int root = common_root(g, u, v);
        if (root) {
            shrink(g, u, root, v);
            return false;
        }
        augment(g, u, v);
        augment(g, v, u);
        return true;
    }
    return false;
}

static bool grow(struct graph *g)
{
    while (g->head < g->tail) {
        int u = g->queue[g->head++];
        if (g->label[g->top[u]] == INNER)
            continue;
        for (int v = 1; v <= g->points; v++) {
            if (edge_at(g, u, v)->weight <= 0 || g->top[u] == g->top[v])
                continue;
            if (slack_of(g, edge_at(g, u, v)) != 0)
                improve_slack(g, u, g->top[v]);
            else if (take_edge(g, edge_at(g, u, v)))
                return true;
        }
    }
    return false;
}

static void lower(int64_t *delta, int64_t value)
{
    if (value < *delta)
        *delta = value;
}

static int64_t step_of(const struct graph *g)
{
    int64_t delta = INT64_MAX;
    for (int b = g->points + 1; b <= g->count; b++)
        if (g->top[b] == b && g->label[b] == INNER)
            lower(&delta, g->dual[b] / 2);
    for (int x = 1; x <= g->count; x++) {
        if (g->top[x] != x || !g->slack[x] || g->label[x] == INNER)
            continue;
        int64_t slack = slack_of(g, edge_at(g, g->slack[x], x));
        lower(&delta, g->label[x] == FREE ? slack : slack / 2);
    }
    return delta;
}

/* False: a dual would fall to 0: nothing is to be gained any more. */
static bool change_duals(struct graph *g, int64_t delta)
{
    /* Before any of them changes: where no edge bounds delta, there is no room to add it. */
    for (int u = 1; u <= g->points; u++)
        if (g->label[g->top[u]] == OUTER && g->dual[u] <= delta)
            return false;
    for (int u = 1; u <= g->points; u++) {
        int label = g->label[g->top[u]];
        if (label != FREE)
            g->dual[u] += label == OUTER ? -delta : delta;
    }
    for (int b = g->points + 1; b <= g->count; b++)
        if (g->top[b] == b && g->label[b] != FREE)
            g->dual[b] += g->label[b] == OUTER ? 2 * delta : -2 * delta;
    return true;
}

static bool follow_tight(struct graph *g)
{
    for (int x = 1; x <= g->count; x++)
        if (g->top[x] == x && g->slack[x] && g->top[g->slack[x]] != x && slack_of(g, edge_at(g, g->slack[x], x)) == 0 &&
            take_edge(g, edge_at(g, g->slack[x], x)))
            return true;
    for (int b = g->points + 1; b <= g->count; b++)
        if (g->top[b] == b && g->label[b] == INNER && g->dual[b] == 0)
            expand(g, b);
    return false;
}

/* One pair more; false: there is none that gains. */
static bool find_path(struct graph *g)
{
    g->head = g->tail = 0;
    for (int x = 0; x <= g->count; x++) {
        g->label[x] = FREE;
        g->slack[x] = 0;
    }
    for (int x = 1; x <= g->count; x++)
        if (g->top[x] == x && !g->mate[x]) {
            g->parent[x] = 0;
            g->label[x] = OUTER;
            enqueue(g, x);
        }
    if (g->tail == 0)
        return false;
    for (;;) {
        if (grow(g))
            return true;
        if (!change_duals(g, step_of(g)))
            return false;
        g->head = g->tail = 0;
        if (follow_tight(g))
            return true;
    }
}

static void graph_init(struct graph *g, const int64_t *weights, size_t count)
{
    size_t width = 2 * count + 2;
    int64_t most = 0;
    *g = (struct graph){.points = (int)count, .count = (int)count, .width = (int)width};
    g->edges = mem_array(width * width, sizeof *g->edges);
    g->part = mem_array(width * width, sizeof *g->part);
    g->dual = mem_array(width, sizeof *g->dual);
    g->blossoms = mem_array(width, sizeof *g->blossoms);
    int **const lists[] = {&g->mate, &g->slack, &g->top, &g->parent, &g->label, &g->seen};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = mem_array(width, sizeof(int));
    g->queue = mem_array(width * width, sizeof(int));
    for (int u = 1; u < (int)width; u++) {
        g->blossoms[u].items = mem_array(width, sizeof(int));
        for (int v = 1; v < (int)width; v++)
            *edge_at(g, u, v) = (struct edge){u, v, 0};
    }
    for (int u = 1; u <= g->points; u++) {
        g->top[u] = u;
        *part_at(g, u, u) = u;
        for (int v = 1; v <= g->points; v++) {
            int64_t weight = weights[(size_t)(u - 1) * count + (size_t)(v - 1)];
            edge_at(g, u, v)->weight = u != v && weight > 0 ? weight : 0;
            most = weight > most ? weight : most;
        }
    }
    for (int u = 1; u <= g->points; u++)
        g->dual[u] = most;
}

static void graph_fini(struct graph *g)
{
    for (int u = 0; u < g->width; u++)
        free(g->blossoms[u].items);
    free(g->edges);
    free(g->part);
    free(g->dual);
    free(g->blossoms);
    int *const lists[] = {g->mate, g->slack, g->top, g->parent, g->label, g->seen, g->queue};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
}

int64_t matching_heaviest(const int64_t *weights, size_t count, size_t *mates)
{
    struct graph g;
    int64_t sum = 0;
    if (count > MATCHING_POINTS_MAX)
        count = MATCHING_POINTS_MAX;
    graph_init(&g, weights, count);
    while (find_path(&g))
        continue;
    for (int u = 1; u <= g.points; u++) {
        mates[u - 1] = (size_t)(g.mate[u] ? g.mate[u] : u) - 1;
        if (g.mate[u] && g.mate[u] < u)
            sum += edge_at(&g, u, g.mate[u])->weight;
    }
    graph_fini(&g);
    return sum;
}
