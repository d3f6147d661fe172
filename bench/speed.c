/* Draws the time of every rule against the number of rows, at a fixed number of numbers in all,
   with the limits of the machine: a bare read of the rows, and n^2 d/2 products and additions
   for the distances of all pairs. Harmless rows, float, one thread, the least of many times.
   usage: speed [file.svg]    default: speed.svg. BENCH_QUICK=1: a tenth of the numbers, shorter. */
#include "bench.h"
#include "examples/plot.h" /* before contenders.h, whose struct rows it would shadow */
#include "contenders.h"

static const size_t counts[] = {10, 20, 50, 100, 200, 500, 1000};

enum { POINTS = sizeof counts / sizeof *counts, MOST_LINES = 10 };

static const unsigned cut = 5; /* seconds; slower calls are left out of the picture */

/* ---- what is drawn: a panel for each kind of cost, a line for each rule */
typedef struct line {
    const char *label;
    int contender; /* -1: a limit */
    double x[POINTS], ms[POINTS];
    size_t points;
} line;

typedef struct panel {
    const char *title;
    line line[MOST_LINES];
    int lines;
} panel;

static void panel_add(panel *p, const char *label, int c) {
    line *l = &p->line[p->lines++];
    l->label = label;
    l->contender = c;
}

static void line_add(line *l, size_t n, double seconds) {
    if (!isfinite(seconds)) return;
    l->x[l->points] = (double)n;
    l->ms[l->points++] = seconds * 1e3;
}

/* the pre-aggregations that only shorten rows, and CClip with another start, would hide others */
static void choose_lines(panel *by_column, panel *by_pair) {
    by_column->title = "columns and norms: work grows as n d";
    by_pair->title = "pairs of rows: work grows as n\xC2\xB2 d";
    for (int c = 0; c < CONTENDERS; c++) {
        const contender *k = &contenders[c];
        if (k->start || (k->pre != AGG_PRE_NONE && k->pre != AGG_PRE_NNM)) continue;
        panel_add(k->needs == READ ? by_column : by_pair, k->name, c);
    }
    panel_add(by_column, "limit: reading the rows", -1);
    panel_add(by_pair, "limit: n\xC2\xB2 d/2 products", -1);
}

/* ---- measuring */
static double least_seconds(job *j, rows *r) {
    const double budget = bench_quick() ? 0.05 : 0.6, begin = bench_cpu();
    rows_point(r, j->desc.f);
    double least = job_seconds(j, r->row, 1, cut);
    const int times = job_calls_a_sample(least);
    while (isfinite(least) && bench_cpu() - begin < budget)
        keep_least(&least, job_seconds(j, r->row, times, cut));
    return least;
}

static double least_read(const rows *r) {
    double least = 0;
    for (int i = 0; i < 200; i++) keep_least(&least, limit_read(r->honest, r->n * r->dim, 1));
    return least;
}

static void measure_line(line *l, rows *r, cost limit) {
    const size z = {r->n, r->f, r->dim};
    if (l->contender < 0) {
        line_add(l, r->n, fmax(least_read(r), limit_arithmetic(limit, &z, limit_peak())));
        return;
    }
    job *j = job_make(&contenders[l->contender], &z);
    line_add(l, r->n, least_seconds(j, r));
    job_free(j);
}

static void measure_count(panel *p, size_t n) {
    const size_t numbers = bench_quick() ? 1000000 : 10000000;
    rows r = rows_make(n, 3 * n / 10, numbers / n);
    fprintf(stderr, "n=%d d=%d ...\n", (int)n, (int)r.dim);
    rows_fill(&r, &inputs[0], 1);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < p[k].lines; i++) measure_line(&p[k].line[i], &r, k ? PAIRS : READ);
    rows_free(&r);
}

/* ---- drawing */
/* Okabe and Ito's colours: told apart by people who do not see red or green; markers and dashes
   for those who see none. */
enum { LOOKS = 8 };

static void write_style(FILE *out) {
    static const char *const light[LOOKS] = {"0072b2", "d55e00", "009e73", "b8860b",
                                             "56b4e9", "a0527f", "555f69", "6b4fa0"};
    static const char *const dark[LOOKS] = {"4aa8e0", "ff8c42", "2fd0a0", "f0c840",
                                            "8ccff5", "e79cc5", "b4bec8", "b9a0f0"};
    fprintf(out, "<style>\n.s{fill:none;stroke-width:1.8;stroke-linejoin:round}"
                 ".limit{fill:none;stroke:#1f2933;stroke-width:2.5;stroke-dasharray:2 4}"
                 ".lead{stroke:#9aa7b4;fill:none;stroke-width:.7}\n");
    for (int i = 0; i < LOOKS; i++)
        fprintf(out, ".s%d{stroke:#%s}.m%d,text.m%d{fill:#%s}\n", i, light[i], i, i, light[i]);
    fprintf(out, "@media (prefers-color-scheme:dark){.limit{stroke:#e6edf3}\n");
    for (int i = 0; i < LOOKS; i++)
        fprintf(out, ".s%d{stroke:#%s}.m%d,text.m%d{fill:#%s}\n", i, dark[i], i, i, dark[i]);
    fprintf(out, "}\n</style>\n");
}

/* square, diamond, triangle up, triangle down: each filled or with a hole */
static void draw_marker(FILE *out, double x, double y, int look) {
    static const char *const shape[4] = {"M%.1f %.1fm-3.5 -3.5h7v7h-7Z",
                                         "M%.1f %.1fm0 -5l5 5l-5 5l-5 -5Z",
                                         "M%.1f %.1fm0 -5l4.5 8h-9Z", "M%.1f %.1fm0 5l4.5 -8h-9Z"};
    fprintf(out, "<path class=\"%s%d\" d=\"", look < 4 ? "m" : "page s s", look);
    fprintf(out, shape[look % 4], x, y);
    fprintf(out, "\"/>\n");
}

static void draw_line(plot *p, plot_box b, const plot_chart *c, const line *l, int look) {
    static const char *const dash[4] = {"", "7 3", "2 2.5", "9 3 2 3"};
    if (l->points == 0) return;
    if (l->contender < 0)
        fprintf(p->out, "<path class=\"limit\" d=\"");
    else
        fprintf(p->out, "<path class=\"s s%d\" stroke-dasharray=\"%s\" d=\"", look, dash[look / 2]);
    for (size_t i = 0; i < l->points; i++)
        fprintf(p->out, "%s%.1f %.1f", i ? "L" : "M", plot_x(b, c, l->x[i]),
                plot_y(b, c, l->ms[i]));
    fprintf(p->out, "\"/>\n");
    for (size_t i = 0; l->contender >= 0 && i < l->points; i++)
        draw_marker(p->out, plot_x(b, c, l->x[i]), plot_y(b, c, l->ms[i]), look);
}

/* Names stand at the ends of their lines, moved apart where they would overlap: from the lowest
   line upwards, then down again if the top was passed. */
static void place_labels(plot_box b, const plot_chart *c, const panel *p, double *y) {
    const double step = 15;
    int order[MOST_LINES], n = 0;
    for (int i = 0; i < p->lines; i++) {
        const line *l = &p->line[i];
        int at = n++;
        y[i] = l->points ? plot_y(b, c, l->ms[l->points - 1]) : b.y + b.h;
        for (; at > 0 && y[order[at - 1]] < y[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int k = 1; k < n; k++) y[order[k]] = fmin(y[order[k]], y[order[k - 1]] - step);
    y[order[n - 1]] = fmax(y[order[n - 1]], b.y);
    for (int k = n - 1; k > 0; k--) y[order[k - 1]] = fmax(y[order[k - 1]], y[order[k]] + step);
}

static void draw_labels(plot *p, plot_box b, const plot_chart *c, const panel *a) {
    double y[MOST_LINES];
    char css[16];
    place_labels(b, c, a, y);
    for (int i = 0; i < a->lines; i++) {
        const line *l = &a->line[i];
        if (l->points == 0) continue;
        const double x = plot_x(b, c, l->x[l->points - 1]), right = b.x + b.w;
        plot_line(p, x + 6, plot_y(b, c, l->ms[l->points - 1]), right + 16, y[i], "lead");
        snprintf(css, sizeof css, l->contender < 0 ? "label" : "m%d", i);
        plot_text(p, right + 19, y[i] + 4, PLOT_LEFT, css, l->label);
    }
}

static void draw_panel(plot *p, plot_box b, const panel *a, plot_scale y) {
    plot_chart c = {a->title, "rows n", "ms", {8, 1200, 1}, y, NULL, 0};
    plot_axes(p, b, &c);
    for (int i = a->lines; i-- > 0;) draw_line(p, b, &c, &a->line[i], i);
    draw_labels(p, b, &c, a);
}

static plot_scale scale_of(const panel *p) {
    plot_scale s = {1e30, 0, 1};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < p[k].lines; i++)
            for (size_t j = 0; j < p[k].line[i].points; j++) {
                s.lo = fmin(s.lo, p[k].line[i].ms[j] / 1.2);
                s.hi = fmax(s.hi, p[k].line[i].ms[j] * 1.2);
            }
    return s;
}

static int draw(const char *path, const panel *a) {
    plot p;
    char note[160];
    if (plot_open(&p, path, 960, 520, "Time of a call against the number of rows") != 0) return 1;
    snprintf(note, sizeof note,
             "n d = %s floats, f = 0.3 n (Bulyan: what it survives), one thread, plain -O2; "
             "dotted: what the machine allows; "
             "a line ends where a call takes 5 s",
             bench_quick() ? "10^6" : "10^7");
    write_style(p.out);
    plot_curve_style(&p);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    draw_panel(&p, plot_make_box(62, 96, 250, 370), &a[0], scale_of(a));
    draw_panel(&p, plot_make_box(542, 96, 250, 370), &a[1], scale_of(a));
    return plot_close(&p) != 0;
}

static void print_lines(const panel *p) {
    for (int i = 0; i < p->lines; i++) {
        printf("  %-24s", p->line[i].label);
        for (size_t k = 0; k < p->line[i].points; k++) printf(" %8.3g", p->line[i].ms[k]);
        printf("\n");
    }
}

int main(int argc, char **argv) {
    static panel p[2];
    const char *path = argc > 1 ? argv[1] : "speed.svg";
    if (argc > 2 || path[0] == '-') {
        printf("usage: speed [file.svg]\nDraws the time of every rule against n, n d fixed. "
               "BENCH_QUICK=1: shorter.\n");
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    choose_lines(&p[0], &p[1]);
    for (size_t i = 0; i < POINTS; i++) measure_count(p, counts[i]);
    printf("ms for n = 10, 20, 50, 100, 200, 500, 1000\n");
    print_lines(&p[0]);
    print_lines(&p[1]);
    if (draw(path, p) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        return 1;
    }
    printf("written: %s\n", path);
    return 0;
}
