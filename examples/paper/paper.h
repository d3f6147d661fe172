/* paper.h - what the programs of examples/paper share: the options, claims and tables, slopes with
   confidence, progress with the time left, and results that survive an interruption. C99 and POSIX;
   define _POSIX_C_SOURCE 200809L first.

       int quick = paper_quick(argc, argv, "usage: ...");      // --quick or nothing
       paper_claims c;
       paper_claims_open(&c, "build/figure.md", "Figure 1");
       paper_note(&c, "10 agents, %d are Byzantine.", 3);      // a paragraph, to file and terminal
       paper_claim(&c, score > 475, "MDA learns", "%.0f of 500", score);
       paper_claims_close(&c);                                 // 0 if every byte reached the file

       paper_progress p;                                       // any thread may add
       paper_progress_start(&p, jobs);
       paper_progress_add(&p, 1);

       paper_store s;                                          // any thread may add
       paper_store_open(&s, "build/figure.part", "settings that must be the same");
       if (!paper_store_find(&s, "MDA/seed 1", y, n)) {        // else an earlier call had found it
           run(y, n);
           paper_store_add(&s, "MDA/seed 1", y, n);
       }
       paper_store_close(&s, 1);                               // 1: all is done, remove the file */
#ifndef PAPER_H
#define PAPER_H
#include "../plot.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- options and clocks */
/* known: option names with a blank behind each. Bit i of the answer: the i-th is there. --help, or
   anything unknown, ends the program. */
PLOT_FN unsigned paper_options(int argc, char **argv, const char *known, const char *usage) {
    unsigned given = 0;
    for (int i = 1; i < argc; i++) {
        const int help = strcmp(argv[i], "--help") == 0;
        const size_t n = strlen(argv[i]);
        unsigned bit = 1;
        const char *at = known;
        while (*at && (strncmp(at, argv[i], n) != 0 || at[n] != ' ')) {
            at = strchr(at, ' ') + 1;
            bit <<= 1;
        }
        if (!*at) exit((fputs(usage, help ? stdout : stderr), help ? 0 : 2));
        given |= bit;
    }
    return given;
}

/* build/name.ending, or build/name_quick.ending: a short run never writes over a full one */
PLOT_FN const char *paper_path(char path[64], const char *name, int quick, const char *ending) {
    snprintf(path, 64, "build/%s%s.%s", name, quick ? "_quick" : "", ending);
    return path;
}

PLOT_FN int paper_quick(int argc, char **argv, const char *usage) {
    return (int)paper_options(argc, argv, "--quick ", usage);
}

PLOT_FN double paper_clock(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

PLOT_FN double paper_wall(void) { return paper_clock(CLOCK_MONOTONIC); }

/* of the calling thread */
PLOT_FN double paper_cpu(void) { return paper_clock(CLOCK_THREAD_CPUTIME_ID); }

/* all cores, for pool_start(), or as many as the environment's CORES says */
PLOT_FN int paper_cores(void) {
    const char *wanted = getenv("CORES");
    const long cores = wanted ? atol(wanted) : sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 1 ? (int)cores : 1;
}

/* ---- claims: a Markdown table, and the same on the terminal */
typedef struct paper_claims {
    FILE *md;
    size_t claims, held, open;
    int in_table;
} paper_claims;

/* 0, or -1 if it cannot */
PLOT_FN int paper_claims_open(paper_claims *c, const char *path, const char *title) {
    memset(c, 0, sizeof *c);
    c->md = fopen(path, "w");
    if (!c->md) return -1;
    fprintf(c->md, "# %s\n", title);
    printf("\n%s\n", title);
    return 0;
}

PLOT_FN void paper_note(paper_claims *c, const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(c->md, "\n%s\n", text);
    printf("\n%s\n", text);
    c->in_table = 0;
}

/* holds: 1 yes, 0 no, -1 the measurement does not decide it */
PLOT_FN void paper_claim(paper_claims *c, int holds, const char *claim, const char *format, ...) {
    static const char *const in_file[3] = {"open", "**no**", "yes"};
    static const char *const shown[3] = {"open", "NOT", "holds"};
    const int verdict = holds > 0 ? 2 : holds < 0 ? 0 : 1;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!c->in_table++) {
        fprintf(c->md, "\n| claim | measured | holds |\n|---|---|---|\n");
        printf("\n");
    }
    fprintf(c->md, "| %s | %s | %s |\n", claim, text, in_file[verdict]);
    printf("  %-5s %s\n        %s\n", shown[verdict], claim, text);
    c->claims++;
    c->held += holds > 0;
    c->open += holds < 0;
}

/* A table after a note, to file and terminal, row by row: paper_row_name(), a paper_cell() for each
   column, paper_row_end(). The first row is the heading: it ends with the number of its columns,
   the others with 0. */
PLOT_FN void paper_row_name(paper_claims *c, int width, const char *name) {
    fprintf(c->md, "| %s |", name);
    printf("%-*s", width, name);
}

PLOT_FN void paper_cell(paper_claims *c, int width, const char *format, ...) {
    char text[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(c->md, " %s |", text);
    printf("%*s", width, text);
}

PLOT_FN void paper_row_end(paper_claims *c, int columns) {
    fprintf(c->md, "\n%s", columns ? "|" : "");
    for (int i = 0; i < columns; i++) fprintf(c->md, "---|");
    fprintf(c->md, "%s", columns ? "\n" : "");
    printf("\n");
}

PLOT_FN int paper_claims_close(paper_claims *c) {
    const int bad = ferror(c->md);
    if (c->claims)
        printf("\n%d of %d claims hold, %d are open.\n", (int)c->held, (int)c->claims,
               (int)c->open);
    return fclose(c->md) != 0 || bad ? -1 : 0;
}

/* ---- figures: panels have letters, and what the curves of build/name.svg show stands in
   build/name_curves.csv */
PLOT_FN int paper_figure(plot *p, const char *path, double w, double h, const char *title) {
    char csv[96];
    snprintf(csv, sizeof csv, "%.*s_curves.csv", (int)(strlen(path) - strlen(".svg")), path);
    if (plot_open(p, path, w, h, title) != 0) return -1;
    plot_letters(p);
    return plot_keep(p, csv);
}

/* ---- slopes */
typedef struct paper_slope {
    double value, lo, hi; /* exponent of x and its 95 % confidence interval */
    double scale;         /* y = scale x^value */
} paper_slope;

/* least squares of the logarithms */
PLOT_FN paper_slope paper_line(const double *x, const double *y, size_t n) {
    double mx = 0, my = 0, xx = 0, xy = 0;
    paper_slope s;
    for (size_t i = 0; i < n; i++) {
        mx += log(x[i]) / (double)n;
        my += log(y[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (log(x[i]) - mx) * (log(x[i]) - mx);
        xy += (log(x[i]) - mx) * (log(y[i]) - my);
    }
    s.value = s.lo = s.hi = xy / xx;
    s.scale = exp(my - s.value * mx);
    return s;
}

/* The slope s of the mean of k runs; value: k rows of `stride` numbers, of which the first n count
   (n <= 64). The interval is that of the jackknife: each run left out once gives a pseudo-value
   k s - (k-1) s_without, Student's t does the rest. */
PLOT_FN paper_slope paper_fit(const double *x, const double *value, size_t k, size_t n,
                              size_t stride) {
    double total[64] = {0}, without[64], mean;
    double *pseudo = (double *)malloc((k ? k : 1) * sizeof *pseudo);
    paper_slope s;
    for (size_t r = 0; r < k; r++)
        for (size_t i = 0; i < n; i++) total[i] += value[r * stride + i] / (double)k;
    s = paper_line(x, total, n);
    if (!pseudo) exit(1);
    for (size_t r = 0; k > 1 && r < k; r++) {
        for (size_t i = 0; i < n; i++)
            without[i] = (total[i] * (double)k - value[r * stride + i]) / (double)(k - 1);
        pseudo[r] = (double)k * s.value - (double)(k - 1) * paper_line(x, without, n).value;
    }
    if (k > 1) plot_confidence(pseudo, k, 1, &mean, &s.lo, &s.hi);
    free(pseudo);
    return s;
}

/* ---- progress */
typedef struct paper_progress {
    pthread_mutex_t lock;
    double total, done, start, shown;
} paper_progress;

PLOT_FN void paper_progress_start(paper_progress *p, double total) {
    pthread_mutex_init(&p->lock, NULL);
    p->total = total;
    p->done = 0;
    p->start = p->shown = paper_wall();
}

/* amount: share of total; a line now and then */
PLOT_FN void paper_progress_add(paper_progress *p, double amount) {
    const int live = isatty(2);
    pthread_mutex_lock(&p->lock);
    p->done += amount;
    const double now = paper_wall(), left = (now - p->start) * (p->total - p->done) / p->done;
    const int end = p->done > 0.999999 * p->total;
    if (now - p->shown > (live ? 0.5 : 15) || (live && end)) {
        fprintf(stderr, "%s%3.0f %%, %.0f s left %s", live ? "\r" : "", 100 * p->done / p->total,
                left, live && !end ? " " : "\n");
        p->shown = now;
    }
    pthread_mutex_unlock(&p->lock);
}

/* ---- results that survive an interruption: lines of "key,number,number,.." */
typedef struct paper_store {
    pthread_mutex_t lock;
    FILE *out;
    char *text; /* what an earlier run left */
    const char *path;
} paper_store;

/* of a CSV file: nothing is rounded */
PLOT_FN void paper_row(FILE *out, const char *key, const double *v, size_t n) {
    fputs(key, out);
    for (size_t i = 0; i < n; i++) fprintf(out, ",%.17g", v[i]);
    fputc('\n', out);
}

/* a whole file; NULL if there is none */
PLOT_FN char *paper_read(const char *path) {
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0, got = 1;
    while (in && got > 0) {
        char *more = (char *)realloc(text, size + 65537);
        if (!more) exit(1);
        text = more;
        got = fread(text + size, 1, 65536, in);
        text[size += got] = 0;
    }
    if (in) fclose(in);
    return text;
}

/* 0, or -1 if it cannot */
PLOT_FN int paper_store_open(paper_store *s, const char *path, const char *settings) {
    const size_t n = strlen(settings);
    s->path = path;
    s->text = paper_read(path);
    if (s->text && (strncmp(s->text, settings, n) != 0 || s->text[n] != '\n')) {
        free(s->text);
        s->text = NULL;
    }
    if (s->text && strrchr(s->text, '\n'))
        strrchr(s->text, '\n')[1] = 0; /* a line cut short does not count */
    s->out = fopen(path, "w");
    if (!s->out) return -1;
    if (s->text)
        fputs(s->text, s->out);
    else
        fprintf(s->out, "%s\n", settings);
    pthread_mutex_init(&s->lock, NULL);
    return fflush(s->out);
}

/* 1: v has it */
PLOT_FN int paper_store_find(const paper_store *s, const char *key, double *v, size_t n) {
    const size_t length = strlen(key);
    for (const char *line = s->text; line && *line; line = strchr(line, '\n') + 1) {
        const char *at = line + length;
        size_t i = 0;
        if (strncmp(line, key, length) != 0) continue;
        for (char *end; i < n && *at == ','; i++, at = end) v[i] = strtod(at + 1, &end);
        if (i == n && *at == '\n') return 1;
    }
    return 0;
}

PLOT_FN void paper_store_add(paper_store *s, const char *key, const double *v, size_t n) {
    pthread_mutex_lock(&s->lock);
    paper_row(s->out, key, v, n);
    fflush(s->out);
    pthread_mutex_unlock(&s->lock);
}

PLOT_FN void paper_store_close(paper_store *s, int done) {
    fclose(s->out);
    free(s->text);
    if (done) remove(s->path);
}
#endif /* PAPER_H */
