/* plot.h - small SVG figures for the examples: one C99 header, no dependencies, readable in light
   and dark mode.

       plot p;
       if (plot_open(&p, "figure.svg", 900, 600, "What the figure says") != 0) return 1;
       plot_text(&p, 20, 50, PLOT_LEFT, "note", "smaller words below the title");
       plot_heatmap(&p, plot_make_box(120, 90, 700, 400), &heat);
       return plot_close(&p);      // 0 if every byte reached the file
       plot_letters(&p);           // after plot_open: panels are (a), (b), ..
       plot_keep(&p, "figure.csv"); // the numbers of the curves too

       plot_chart chart = {"CartPole", "rounds", "return", {0, 400, 0}, {0, 500, 0}, curves, 4};
       plot_legend(&p, 60, 60, curves, 4);
       plot_box page = plot_make_box(60, 80, 820, 480);
       plot_curves(&p, plot_cell(page, 2, 3, 0, 1), &chart);      // row 0, column 1 of 2 x 3
       plot_named_curves(&p, plot_cell_for_names(page, 2, 3, 0, 2, 70), &chart); // names at the end
       plot_terminal(stdout, &chart, 80, 16, colour);             // the same chart in characters
       plot_terminal_heatmap(stdout, &heat);

   A figure is a page in pixels, y down. A panel is a box on it. A scale maps values to 0..1, linear
   or logarithmic; axes and colour bars take their ticks from it. Colours are CSS classes, defined
   for light and for dark mode:
       text classes    title, label, note
       lines           axis, grid
       fills           k0 .. k23, a ramp from calm to loud; t0 .. t23 is readable text on top of it
       curves          c0 .. c7, b0 .. b7 for the bands around them, m0 .. m7 for their marks
   A new kind of panel is a function that takes the plot, a box and a struct of data. */
#ifndef PLOT_H
#define PLOT_H
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#if defined(__GNUC__)
#define PLOT_FN static __attribute__((unused))
#else
#define PLOT_FN static
#endif
#define PLOT_SHADES  24
#define PLOT_COLOURS 8

typedef struct plot {
    FILE *out;
    FILE *data; /* the numbers of the curves, or NULL */
    int styled; /* the colours of curves are in the file: written when first needed */
    int letter; /* of the next panel, or 0 */
} plot;

typedef struct plot_box {
    double x, y, w, h;
} plot_box;

typedef struct plot_scale {
    double lo, hi; /* values at 0 and 1; hi < lo turns a linear one round */
    int log;       /* 0 = linear; else 0 < lo < hi */
} plot_scale;

typedef enum plot_align { PLOT_LEFT, PLOT_CENTRE, PLOT_RIGHT } plot_align;

typedef struct plot_heat {
    size_t rows, cols;
    const double *value;          /* rows x cols; NAN: an empty place */
    const char *const *row_label; /* rows */
    const char *const *col_label; /* cols; a long one is broken at its first blank */
    plot_scale scale;
    const char *scale_label;
    size_t split_row, split_col; /* a small gap before this row or column; 0 = none */
} plot_heat;

typedef struct plot_curve {
    const char *label;
    size_t n;
    const double *x, *y;
    const double *lo, *hi; /* a band around y; NULL = none */
    int colour;            /* 0 .. 7 */
    int dashed;
} plot_curve;

typedef struct plot_chart {
    const char *title, *x_label, *y_label; /* each may be NULL */
    plot_scale x, y;
    const plot_curve *curve;
    size_t curves;
} plot_chart;

PLOT_FN plot_box plot_make_box(double x, double y, double w, double h) {
    plot_box b;
    b.x = x;
    b.y = y;
    b.w = w;
    b.h = h;
    return b;
}

/* ---- scales and ticks */
/* 0..1, clamped; what is not a number goes to the loud end */
PLOT_FN double plot_at(const plot_scale *s, double v) {
    double t =
        s->log ? (v > 0 ? log(v / s->lo) / log(s->hi / s->lo) : 0) : (v - s->lo) / (s->hi - s->lo);
    return t >= 0 && t <= 1 ? t : (t < 0 ? 0 : 1);
}

/* At most max ticks: multiples of 1, 2 or 5 times a power of ten; on a logarithmic scale those
   themselves, if there is room, or powers of ten. */
PLOT_FN size_t plot_ticks_log(const plot_scale *s, size_t max, double *tick) {
    static const double digit[3] = {1, 2, 5};
    const int a = (int)floor(log10(s->lo)), b = (int)ceil(log10(s->hi));
    const int digits = 3 * (size_t)(b - a) > max ? 1 : 3;
    size_t n = 0;
    int step = 1;
    while ((size_t)((b - a) / step + 1) > max) step++;
    for (int e = a; e <= b; e += step)
        for (int k = 0; k < digits && n < max; k++) {
            const double v = digit[k] * pow(10, e);
            if (v > s->lo * 0.999 && v < s->hi * 1.001) tick[n++] = v;
        }
    return n;
}

PLOT_FN size_t plot_ticks(const plot_scale *s, size_t max, double *tick) {
    if (s->log) return plot_ticks_log(s, max, tick);
    const double lo = fmin(s->lo, s->hi), hi = fmax(s->lo, s->hi);
    const double raw = (hi - lo) / (double)(max > 1 ? max - 1 : 1);
    double unit = pow(10, floor(log10(raw)));
    size_t n = 0;
    unit *= raw <= unit ? 1 : raw <= 2 * unit ? 2 : raw <= 5 * unit ? 5 : 10;
    for (double k = ceil(lo / unit - 1e-9); k * unit <= hi + 1e-9 * unit && n < max; k++)
        tick[n++] = k * unit + 0.0; /* no -0 */
    return n;
}

/* A number of at most five characters or so: 0  .004  .27  3.1  42  7e6 */
PLOT_FN const char *plot_number(char buffer[32], double v) {
    double a = fabs(v);
    if (!(a <= 1e300)) return "\xE2\x88\x9E"; /* infinity sign */
    if (a >= 99999.5)
        snprintf(buffer, 32, "%.0e", v);
    else if (a >= 9.95)
        snprintf(buffer, 32, "%.0f", v);
    else if (a >= 0.995)
        snprintf(buffer, 32, "%.1f", v);
    else if (a >= 0.00995)
        snprintf(buffer, 32, "%.2f", v);
    else if (a >= 0.0005)
        snprintf(buffer, 32, "%.3f", v);
    else
        return "0";
    char *e = strchr(buffer, 'e');
    if (e) { /* 7e+06 -> 7e6 */
        char *digits = e + 1 + strspn(e + 1, "+0");
        memmove(e + 1, digits, strlen(digits) + 1);
    }
    return buffer;
}

/* ---- page */
/* five anchors, straight lines between them */
PLOT_FN int plot_channel(const int *anchor, int stride, double t) {
    int k = t >= 1 ? 3 : (int)(4 * t);
    double u = 4 * t - k;
    return (int)(0.5 + anchor[k * stride] * (1 - u) + anchor[(k + 1) * stride] * u);
}

/* anchor: 5 x (r, g, b) */
PLOT_FN void plot_ramp(FILE *out, const int *anchor) {
    for (int i = 0; i < PLOT_SHADES; i++) {
        double t = (double)i / (PLOT_SHADES - 1);
        int r = plot_channel(anchor, 3, t), g = plot_channel(anchor + 1, 3, t),
            b = plot_channel(anchor + 2, 3, t);
        double light = 0.299 * r + 0.587 * g + 0.114 * b;
        fprintf(out, ".k%d{fill:#%02x%02x%02x}.t%d{fill:%s}\n", i, (unsigned)r, (unsigned)g,
                (unsigned)b, i, light > 128 ? "#15202b" : "#ffffff");
    }
}

PLOT_FN void plot_style(FILE *out) {
    static const int light[15] = {214, 236, 231, 250, 240, 184, 246, 173,
                                  85,  214, 60,  50,  110, 8,   48};
    static const int dark[15] = {22, 62, 64, 92, 92, 40, 190, 120, 24, 232, 72, 52, 255, 128, 150};
    fprintf(out, "<style>\n"
                 "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',"
                 "Helvetica,Arial,sans-serif;font-size:12px;fill:#1f2933}\n"
                 ".title{font-size:18px;font-weight:600}.note{fill:#5b6773}.page{fill:#ffffff}\n"
                 ".axis{stroke:#5b6773;fill:none}.grid{stroke:#dde3e8;fill:none}\n");
    plot_ramp(out, light);
    fprintf(out, "@media (prefers-color-scheme:dark){\n"
                 "text{fill:#e6edf3}.note{fill:#9aa7b4}.page{fill:#0d1117}\n"
                 ".axis{stroke:#9aa7b4}.grid{stroke:#2a323c}\n");
    plot_ramp(out, dark);
    fprintf(out, "}\n</style>\n");
}

PLOT_FN void plot_escape(FILE *out, const char *s, size_t n) {
    for (size_t i = 0; i < n && s[i]; i++) {
        if (s[i] == '<')
            fputs("&lt;", out);
        else if (s[i] == '&')
            fputs("&amp;", out);
        else
            fputc(s[i], out);
    }
}

PLOT_FN void plot_text_n(plot *p, double x, double y, plot_align align, const char *css,
                         const char *s, size_t n) {
    static const char *const anchor[] = {"start", "middle", "end"};
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y,
            anchor[align], css);
    plot_escape(p->out, s, n);
    fprintf(p->out, "</text>\n");
}

PLOT_FN void plot_text(plot *p, double x, double y, plot_align align, const char *css,
                       const char *s) {
    plot_text_n(p, x, y, align, css, s, strlen(s));
}

PLOT_FN void plot_rect(plot *p, plot_box b, double radius, const char *css) {
    fprintf(p->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%g\" class=\"%s\"/>\n",
            b.x, b.y, b.w, b.h, radius, css);
}

PLOT_FN void plot_line(plot *p, double x0, double y0, double x1, double y1, const char *css) {
    fprintf(p->out, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"%s\"/>\n", x0, y0, x1, y1, css);
}

/* 0, or -1 if it cannot */
PLOT_FN int plot_open(plot *p, const char *path, double w, double h, const char *title) {
    memset(p, 0, sizeof *p);
    p->out = fopen(path, "w");
    if (!p->out) return -1;
    fprintf(p->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
            "height=\"%g\" role=\"img\">\n<title>",
            w, h, w, h);
    plot_escape(p->out, title, strlen(title));
    fprintf(p->out, "</title>\n");
    plot_style(p->out);
    plot_rect(p, plot_make_box(0, 0, w, h), 8, "page");
    plot_text(p, 20, 32, PLOT_LEFT, "title", title);
    return 0;
}

/* from here on charts with a title are (a), (b), .. */
PLOT_FN void plot_letters(plot *p) { p->letter = 'a'; }

/* The numbers of all curves that are drawn from here on, so that others can compare: a CSV with a
   row for each of x, y and, if there is a band, lo and hi. 0, or -1 if it cannot */
PLOT_FN int plot_keep(plot *p, const char *path) {
    p->data = fopen(path, "w");
    if (p->data) fprintf(p->data, "panel,curve,row,values\n");
    return p->data ? 0 : -1;
}

PLOT_FN int plot_close(plot *p) {
    fprintf(p->out, "</svg>\n");
    int bad = ferror(p->out) || (p->data && ferror(p->data));
    if (p->data && fclose(p->data) != 0) bad = 1;
    return fclose(p->out) != 0 || bad ? -1 : 0;
}

/* ---- panels */
/* ticks below the box */
PLOT_FN void plot_axis_x(plot *p, plot_box b, const plot_scale *s, size_t max) {
    double tick[32];
    size_t n = plot_ticks(s, max < 32 ? max : 32, tick);
    for (size_t i = 0; i < n; i++) {
        char text[32];
        double x = b.x + b.w * plot_at(s, tick[i]);
        plot_line(p, x, b.y + b.h, x, b.y + b.h + 4, "axis");
        snprintf(text, sizeof text, "%g", tick[i]);
        plot_text(p, x, b.y + b.h + 17, PLOT_CENTRE, "note", text);
    }
}

PLOT_FN int plot_shade(const plot_scale *s, double v) {
    return (int)(plot_at(s, v) * (PLOT_SHADES - 1) + 0.5);
}

PLOT_FN void plot_colour_bar(plot *p, plot_box b, const plot_scale *s, const char *label) {
    char css[16];
    for (int i = 0; i < PLOT_SHADES; i++) {
        snprintf(css, sizeof css, "k%d", i);
        plot_rect(p, plot_make_box(b.x + b.w * i / PLOT_SHADES, b.y, b.w / PLOT_SHADES + 0.4, b.h),
                  0, css);
    }
    plot_axis_x(p, b, s, b.w > 400 ? 10 : b.w > 180 ? 6 : 3);
    plot_text(p, b.x - 12, b.y + b.h - 1, PLOT_RIGHT, "note", label);
}

/* y: last baseline. Broken at the first blank or at the last, so that the longer line is short. */
PLOT_FN void plot_column_label(plot *p, double x, double y, double width, const char *s) {
    const char *blank = strchr(s, ' '), *last = strrchr(s, ' ');
    if (blank && strlen(blank + 1) > (size_t)(last - s)) blank = last;
    if (blank && (double)strlen(s) * 6.5 > width) {
        plot_text_n(p, x, y - 15, PLOT_CENTRE, "label", s, (size_t)(blank - s));
        s = blank + 1;
    }
    plot_text(p, x, y, PLOT_CENTRE, "label", s);
}

/* Cells fill the box; row labels stand to its left, column labels above it, the colour bar below
   it. */
PLOT_FN void plot_heatmap(plot *p, plot_box b, const plot_heat *h) {
    const double gap_x = h->split_col ? 8 : 0, gap_y = h->split_row ? 8 : 0;
    double cw = (b.w - gap_x) / (double)h->cols, ch = (b.h - gap_y) / (double)h->rows;
    for (size_t c = 0; c < h->cols; c++) {
        double x = b.x + cw * (double)c + (c >= h->split_col ? gap_x : 0);
        plot_column_label(p, x + cw / 2, b.y - 8, cw, h->col_label[c]);
        for (size_t r = 0; r < h->rows; r++) {
            double y = b.y + ch * (double)r + (r >= h->split_row ? gap_y : 0);
            double v = h->value[r * h->cols + c];
            char css[16], text[32];
            int shade = plot_shade(&h->scale, v);
            if (c == 0) plot_text(p, b.x - 8, y + ch / 2 + 4, PLOT_RIGHT, "label", h->row_label[r]);
            if (isnan(v)) continue;
            snprintf(css, sizeof css, "k%d", shade);
            plot_rect(p, plot_make_box(x + 1, y + 1, cw - 2, ch - 2), 3, css);
            snprintf(css, sizeof css, "t%d", shade);
            plot_text(p, x + cw / 2, y + ch / 2 + 4, PLOT_CENTRE, css, plot_number(text, v));
        }
    }
    plot_colour_bar(p, plot_make_box(b.x + b.w * 0.45, b.y + b.h + 20, b.w * 0.55, 10), &h->scale,
                    h->scale_label);
}

/* ---- curves */
/* mean of k runs and the 95 % confidence interval of the mean by Student's t; value: k rows of n.
   y, lo, hi: n. */
PLOT_FN void plot_confidence(const double *value, size_t k, size_t n, double *y, double *lo,
                             double *hi) {
    static const double t975[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571,
                                  2.447, 2.365,  2.306, 2.262, 2.228};
    const double t = k < 2 ? 0 : k <= 11 ? t975[k - 1] : 1.96 + 2.7 / (double)(k - 1);
    for (size_t i = 0; i < n; i++) {
        double sum = 0, squares = 0;
        for (size_t r = 0; r < k; r++) sum += value[r * n + i];
        y[i] = sum / (double)k;
        for (size_t r = 0; r < k; r++)
            squares += (value[r * n + i] - y[i]) * (value[r * n + i] - y[i]);
        const double half = k < 2 ? 0 : t * sqrt(squares / (double)(k - 1) / (double)k);
        lo[i] = y[i] - half;
        hi[i] = y[i] + half;
    }
}

/* with room for labels */
PLOT_FN plot_box plot_cell(plot_box page, size_t rows, size_t cols, size_t row, size_t col) {
    const double left = 52, right = 12, top = 28, bottom = 44;
    const double w = page.w / (double)cols, h = page.h / (double)rows;
    return plot_make_box(page.x + w * (double)col + left, page.y + h * (double)row + top,
                         w - left - right, h - top - bottom);
}

/* Hues that stay apart with red, green or blue weak eyes (after Okabe and Ito), and each has a mark
   of its own. Bands of more than three curves would be mud: they show while the pointer is on a
   curve or its name. */
PLOT_FN void plot_curve_style(plot *p) {
    static const char *const light[PLOT_COLOURS] = {"0060a8", "c44e00", "00805c", "a87800",
                                                    "b0528c", "2f9fd6", "3a3f46", "8a5a3c"};
    static const char *const dark[PLOT_COLOURS] = {"4aa3ff", "ff8a3c", "2fd3a0", "f0c040",
                                                   "f08cc8", "8fdcff", "d5dae0", "c9a184"};
    if (p->styled++) return;
    fprintf(p->out, "<style>\n.panel{font-size:13px;font-weight:600}.dashed{stroke-dasharray:6 4}\n"
                    ".name{font-size:11px}.many .band{opacity:0}.many:hover .band{opacity:.28}"
                    ".many:hover .line{stroke-width:3.5}\n");
    for (int i = 0; i < PLOT_COLOURS; i++)
        fprintf(
            p->out,
            ".c%d{stroke:#%s;fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
            ".b%d{fill:#%s;opacity:.16}.m%d{fill:#%s}\n",
            i, light[i], i, light[i], i, light[i]);
    fprintf(p->out, "@media (prefers-color-scheme:dark){\n");
    for (int i = 0; i < PLOT_COLOURS; i++)
        fprintf(p->out, ".c%d{stroke:#%s}.b%d{fill:#%s}.m%d{fill:#%s}\n", i, dark[i], i, dark[i], i,
                dark[i]);
    fprintf(p->out, "}\n</style>\n");
}

PLOT_FN double plot_x(plot_box b, const plot_chart *c, double v) {
    return b.x + b.w * plot_at(&c->x, v);
}

PLOT_FN double plot_y(plot_box b, const plot_chart *c, double v) {
    return b.y + b.h * (1 - plot_at(&c->y, v));
}

/* Points of a path, forwards or backwards; those within four pixels of the last one drawn are left
   out. In y too: a single bad round is what a reader looks for. */
PLOT_FN void plot_points(plot *p, plot_box b, const plot_chart *c, const plot_curve *k,
                         const double *y, int back) {
    double last_x = -1e9, last_y = 0;
    for (size_t j = 0; j < k->n; j++) {
        const size_t i = back ? k->n - 1 - j : j;
        const double x = plot_x(b, c, k->x[i]), to = plot_y(b, c, y[i]);
        if (fabs(x - last_x) < 4 && fabs(to - last_y) < 4 && j + 1 < k->n) continue;
        fprintf(p->out, "%s%.1f %.1f", j == 0 && !back ? "M" : "L", x, to);
        last_x = x;
        last_y = to;
    }
}

PLOT_FN void plot_panel_title(plot *p, plot_box b, const char *title) {
    char text[160];
    if (!title) return;
    if (p->letter)
        snprintf(text, sizeof text, "(%c) %s", p->letter++, title);
    else
        snprintf(text, sizeof text, "%s", title);
    plot_text(p, b.x, b.y - 10, PLOT_LEFT, "panel", text);
}

PLOT_FN void plot_axes(plot *p, plot_box b, const plot_chart *c) {
    double tick[32];
    char text[32];
    size_t max = (size_t)(b.h / 30), n = plot_ticks(&c->y, max < 3 ? 3 : max < 12 ? max : 12, tick);
    for (size_t i = 0; i < n; i++) {
        const double y = plot_y(b, c, tick[i]);
        plot_line(p, b.x, y, b.x + b.w, y, "grid");
        snprintf(text, sizeof text, "%g", tick[i]);
        plot_text(p, b.x - 7, y + 4, PLOT_RIGHT, "note", text);
    }
    plot_line(p, b.x, b.y + b.h, b.x + b.w, b.y + b.h, "axis");
    max = (size_t)(b.w / 45);
    plot_axis_x(p, b, &c->x, max < 3 ? 3 : max < 12 ? max : 12);
    plot_panel_title(p, b, c->title);
    if (c->x_label) plot_text(p, b.x + b.w / 2, b.y + b.h + 36, PLOT_CENTRE, "note", c->x_label);
    if (!c->y_label) return;
    fprintf(p->out, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", b.x - 42, b.y + b.h / 2);
    plot_text(p, 0, 0, PLOT_CENTRE, "note", c->y_label);
    fprintf(p->out, "</g>\n");
}

PLOT_FN void plot_mark(plot *p, double x, double y, int colour) {
    static const char *const shape[PLOT_COLOURS] = {
        "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",              /* circle */
        "m-3.2-3.2h6.4v6.4h-6.4z",                                   /* square */
        "m0-4.4l4 7h-8z",                                            /* triangle */
        "m0-4.6l4 4.6l-4 4.6l-4-4.6z",                               /* diamond */
        "m0 4.4l4-7h-8z",                                            /* triangle, point down */
        "m-1.2-4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z", /* cross */
        "m-4-1.5h8v3h-8z",                                           /* bar */
        "m-1.5-4h3v8h-3z",                                           /* bar, upright */
    };
    const int k = colour % PLOT_COLOURS;
    const int form = (colour + colour / PLOT_COLOURS) % PLOT_COLOURS; /* as colours come again */
    fprintf(p->out, "<path class=\"m%d\" d=\"M%.1f %.1f%s\"/>\n", k, x, y, shape[form]);
}

/* five marks along a curve, those of different curves at different places */
PLOT_FN void plot_marks(plot *p, plot_box b, const plot_chart *c, size_t which) {
    const plot_curve *k = &c->curve[which];
    for (int m = 0; m < 5; m++) {
        const double share = (m + ((double)which + 0.5) / (double)c->curves) / 5;
        const size_t i = (size_t)(share * (double)(k->n - 1) + 0.5);
        plot_mark(p, plot_x(b, c, k->x[i]), plot_y(b, c, k->y[i]), k->colour);
    }
}

PLOT_FN void plot_band(plot *p, plot_box b, const plot_chart *c, const plot_curve *k) {
    if (!k->lo || !k->hi) return;
    fprintf(p->out, "<path class=\"band b%d\" d=\"", k->colour % PLOT_COLOURS);
    plot_points(p, b, c, k, k->hi, 0);
    plot_points(p, b, c, k, k->lo, 1);
    fprintf(p->out, "Z\"/>\n");
}

PLOT_FN void plot_stroke(plot *p, plot_box b, const plot_chart *c, const plot_curve *k) {
    fprintf(p->out, "<path class=\"line c%d%s\" d=\"", k->colour % PLOT_COLOURS,
            k->dashed ? " dashed" : "");
    plot_points(p, b, c, k, k->y, 0);
    fprintf(p->out, "\"/>\n");
}

/* where the name of each curve stands at the right: at its last value, or as near as no other is.
   From the lowest up, each at least a line above the one before; then down from the top. */
PLOT_FN void plot_name_places(plot_box b, const plot_chart *c, double *y) {
    const double line = 12;
    size_t order[32] = {0}, n = c->curves < 32 ? c->curves : 32;
    for (size_t i = 0; i < n; i++) {
        const plot_curve *k = &c->curve[i];
        size_t j = i;
        y[i] = k->n ? plot_y(b, c, k->y[k->n - 1]) + 4 : 0;
        for (; j > 0 && y[order[j - 1]] < y[i]; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    for (size_t i = 1; i < n; i++) y[order[i]] = fmin(y[order[i]], y[order[i - 1]] - line);
    for (size_t i = n; i-- > 0;) {
        const double top = i + 1 < n ? y[order[i + 1]] + line : b.y + 2;
        y[order[i]] = fmax(y[order[i]], top);
    }
}

PLOT_FN void plot_keep_row(plot *p, const char *panel, const plot_curve *k, const char *row,
                           const double *v) {
    if (!v) return;
    fprintf(p->data, "\"%s\",\"%s\",%s", panel, k->label, row);
    for (size_t i = 0; i < k->n; i++) fprintf(p->data, ",%.4g", v[i]);
    fprintf(p->data, "\n");
}

PLOT_FN void plot_keep_curves(plot *p, const plot_chart *c) {
    const char *panel = c->title ? c->title : "";
    for (size_t i = 0; p->data && i < c->curves; i++) {
        const plot_curve *k = &c->curve[i];
        plot_keep_row(p, panel, k, "x", k->x);
        plot_keep_row(p, panel, k, "y", k->y);
        plot_keep_row(p, panel, k, "lo", k->lo);
        plot_keep_row(p, panel, k, "hi", k->hi);
    }
}

PLOT_FN void plot_curves_by(plot *p, plot_box b, const plot_chart *c, int names) {
    const int many = c->curves > 3;
    double y[32];
    plot_curve_style(p);
    plot_axes(p, b, c);
    plot_keep_curves(p, c);
    if (names) plot_name_places(b, c, y);
    for (size_t i = 0; i < c->curves && !many; i++)
        if (c->curve[i].n) plot_band(p, b, c, &c->curve[i]);
    for (size_t i = 0; i < c->curves; i++) {
        const plot_curve *k = &c->curve[i];
        if (k->n == 0) continue;
        fprintf(p->out, "<g class=\"%s\">\n", many ? "many" : "few");
        if (many) plot_band(p, b, c, k);
        plot_stroke(p, b, c, k);
        if (c->curves > 1) plot_marks(p, b, c, i);
        if (names && i < 32) {
            plot_mark(p, b.x + b.w + 9, y[i] - 4, k->colour);
            plot_text(p, b.x + b.w + 16, y[i], PLOT_LEFT, "name", k->label);
        }
        fprintf(p->out, "</g>\n");
    }
}

/* Axes stand outside the box: plot_cell() leaves room for them. */
PLOT_FN void plot_curves(plot *p, plot_box b, const plot_chart *c) { plot_curves_by(p, b, c, 0); }

/* the same with the name of each curve where it ends: plot_cell_for_names() leaves room for that */
PLOT_FN void plot_named_curves(plot *p, plot_box b, const plot_chart *c) {
    plot_curves_by(p, b, c, 1);
}

PLOT_FN plot_box plot_cell_for_names(plot_box page, size_t rows, size_t cols, size_t row,
                                     size_t col, double room) {
    plot_box b = plot_cell(page, rows, cols, row, col);
    b.w -= room;
    return b;
}

/* a tick of its own, for a maximum that the axis would not name */
PLOT_FN void plot_tick_y(plot *p, plot_box b, const plot_chart *c, double v) {
    char text[32];
    double tick[32];
    const size_t max = (size_t)(b.h / 30);
    size_t n = plot_ticks(&c->y, max < 3 ? 3 : max < 12 ? max : 12, tick);
    const double y = plot_y(b, c, v);
    if (v < c->y.lo || v > c->y.hi) return; /* not on this axis */
    while (n-- > 0)
        if (fabs(plot_y(b, c, tick[n]) - y) < 11) return;
    plot_line(p, b.x - 4, y, b.x, y, "axis"); /* no grid: a curve is often there */
    snprintf(text, sizeof text, "%g", v);
    plot_text(p, b.x - 7, y + 4, PLOT_RIGHT, "note", text);
}

/* One row: a stroke and a name for every curve. Returns the x where it ends. y: the baseline of the
   words. */
PLOT_FN double plot_legend(plot *p, double x, double y, const plot_curve *curve, size_t curves) {
    plot_curve_style(p);
    for (size_t i = 0; i < curves; i++) {
        char css[16];
        snprintf(css, sizeof css, "c%d%s", curve[i].colour % PLOT_COLOURS,
                 curve[i].dashed ? " dashed" : "");
        plot_line(p, x, y - 4, x + 22, y - 4, css);
        plot_mark(p, x + 11, y - 4, curve[i].colour);
        plot_text(p, x + 29, y, PLOT_LEFT, "label", curve[i].label);
        x += 29 + 7.2 * (double)strlen(curve[i].label) + 22;
    }
    return x;
}

/* ---- the same chart in a terminal: braille, 2 x 4 dots a character */
#define PLOT_CELLS 200

typedef struct plot_canvas {
    int w, h; /* characters */
    unsigned char dots[PLOT_CELLS][PLOT_CELLS], colour[PLOT_CELLS][PLOT_CELLS];
} plot_canvas;

/* y down, in dots */
PLOT_FN void plot_dot(plot_canvas *a, int x, int y, int colour) {
    static const unsigned char bit[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    if (x < 0 || y < 0 || x >= 2 * a->w || y >= 4 * a->h) return;
    a->dots[y / 4][x / 2] = (unsigned char)(a->dots[y / 4][x / 2] | bit[y % 4][x % 2]);
    a->colour[y / 4][x / 2] = (unsigned char)colour;
}

PLOT_FN void plot_trace(plot_canvas *a, const plot_chart *c, const plot_curve *k) {
    const double w = 2 * a->w - 1, h = 4 * a->h - 1;
    for (size_t i = 1; i < k->n; i++) {
        double x0 = w * plot_at(&c->x, k->x[i - 1]), x1 = w * plot_at(&c->x, k->x[i]);
        double y0 = h * (1 - plot_at(&c->y, k->y[i - 1])), y1 = h * (1 - plot_at(&c->y, k->y[i]));
        int steps = (int)fmax(fabs(x1 - x0), fabs(y1 - y0)) + 1;
        for (int s = 0; s <= steps; s++) {
            double t = (double)s / steps;
            plot_dot(a, (int)(x0 + t * (x1 - x0) + 0.5), (int)(y0 + t * (y1 - y0) + 0.5),
                     k->colour);
        }
    }
}

/* the row of characters that a value's dot is in */
PLOT_FN int plot_row(const plot_canvas *a, const plot_chart *c, double v) {
    return (int)((4 * a->h - 1) * (1 - plot_at(&c->y, v)) + 0.5) / 4;
}

/* Which curve is named at the end of each row? It stands at its last value, or at the nearest free
   row. */
PLOT_FN void plot_end_labels(const plot_canvas *a, const plot_chart *c, int *label) {
    for (int r = 0; r < a->h; r++) label[r] = -1;
    for (size_t i = 0; i < c->curves; i++) {
        const plot_curve *k = &c->curve[i];
        if (k->n == 0) continue;
        const int want = plot_row(a, c, k->y[k->n - 1]);
        for (int off = 0; off < 2 * a->h; off++) {
            int r = off % 2 ? want + (off + 1) / 2 : want - off / 2;
            if (r < 0 || r >= a->h || label[r] >= 0) continue;
            label[r] = (int)i;
            break;
        }
    }
}

/* the same hues as c0 .. c7 */
PLOT_FN const char *plot_ansi(int colour, int on) {
    static const char *const code[PLOT_COLOURS] = {"\033[94m", "\033[91m", "\033[32m", "\033[33m",
                                                   "\033[95m", "\033[36m", "\033[35m", "\033[37m"};
    return on ? code[colour % PLOT_COLOURS] : "";
}

/* U+2800 + dots in UTF-8 */
PLOT_FN void plot_cell_print(FILE *out, int dots, int colour, int on) {
    if (dots == 0)
        fputc(' ', out);
    else
        fprintf(out, "%s%c%c%c%s", plot_ansi(colour, on), 0xE2, 0xA0 + (dots >> 6),
                0x80 + (dots & 63), on ? "\033[0m" : "");
}

PLOT_FN void plot_terminal(FILE *out, const plot_chart *c, int width, int rows, int colour) {
    static plot_canvas a;
    int label[PLOT_CELLS], n;
    double tick[16];
    memset(&a, 0, sizeof a);
    a.w = width - 18 < PLOT_CELLS ? width - 18 : PLOT_CELLS;
    a.h = rows < PLOT_CELLS ? rows : PLOT_CELLS;
    for (size_t i = c->curves; i-- > 0;)
        plot_trace(&a, c, &c->curve[i]); /* the first curve on top */
    plot_end_labels(&a, c, label);
    n = (int)plot_ticks(&c->y, 7, tick);
    for (int r = 0; r < a.h; r++) {
        char text[32] = "";
        for (int i = 0; i < n; i++)
            if (plot_row(&a, c, tick[i]) == r) snprintf(text, sizeof text, "%g", tick[i]);
        fprintf(out, "%5s %s", text, *text ? "\xE2\x94\xA4" : "\xE2\x94\x82");
        for (int x = 0; x < a.w; x++) plot_cell_print(out, a.dots[r][x], a.colour[r][x], colour);
        if (label[r] >= 0)
            fprintf(out, " %s%s%s", plot_ansi(c->curve[label[r]].colour, colour),
                    c->curve[label[r]].label, colour ? "\033[0m" : "");
        fputc('\n', out);
    }
    fprintf(out, "      \xE2\x94\x94");
    for (int x = 0; x < a.w; x++) fputs("\xE2\x94\x80", out);
    fprintf(out, "\n%7g%*s %g\n", c->x.lo, a.w - 4, c->x_label ? c->x_label : "", c->x.hi);
}

/* a heat map as a table of numbers */
PLOT_FN void plot_terminal_heatmap(FILE *out, const plot_heat *h) {
    char text[32];
    for (int line = 0; line < 2; line++) { /* a long label has two */
        fprintf(out, "%-14s", "");
        for (size_t c = 0; c < h->cols; c++) {
            const char *blank = strchr(h->col_label[c], ' ');
            const int first = blank ? (int)(blank - h->col_label[c]) : 0;
            fprintf(out, " %8.*s", line ? 8 : first, line && blank ? blank + 1 : h->col_label[c]);
        }
        fputc('\n', out);
    }
    for (size_t r = 0; r < h->rows; r++) {
        fprintf(out, "%-14s", h->row_label[r]);
        for (size_t c = 0; c < h->cols; c++) {
            const double v = h->value[r * h->cols + c];
            snprintf(text, sizeof text, v < 9.9995 ? "%.3f" : "%.3g", v);
            fprintf(out, " %8s", isnan(v) ? "" : text);
        }
        fputc('\n', out);
    }
}
#endif /* PLOT_H */
