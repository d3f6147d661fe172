/* plot.h - small SVG figures for the examples: one C99 header, no dependencies, readable in light
   and dark mode.

       plot p;
       if (plot_open(&p, "figure.svg", 900, 600, "What the figure says") != 0) return 1;
       plot_text(&p, 20, 50, PLOT_LEFT, "note", "smaller words below the title");
       plot_heatmap(&p, plot_make_box(120, 90, 700, 400), &heat);
       return plot_close(&p);      // 0 if every byte reached the file

       plot_chart chart = {"CartPole", "rounds", "return", {0, 400, 0}, {0, 500, 0}, curves, 4};
       plot_legend(&p, 60, 60, curves, 4);
       plot_box page = plot_make_box(60, 80, 820, 480);
       plot_curves(&p, plot_cell(page, 2, 3, 0, 1), &chart);      // row 0, column 1 of 2 x 3
       plot_terminal(stdout, &chart, 80, 16, colour);             // the same chart in characters

   A figure is a page in pixels, y down. A panel is a box on it. A scale maps values to 0..1, linear
   or logarithmic; axes and colour bars take their ticks from it. Colours are CSS classes, defined
   for light and for dark mode:
       text classes    title, label, note
       lines           axis, grid
       fills           k0 .. k23, a ramp from calm to loud; t0 .. t23 is readable text on top of it
       curves          c0 .. c7, and b0 .. b7 for the bands around them
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
    int styled; /* the colours of curves are in the file: written when first needed */
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
    const double *value;          /* rows x cols */
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
    p->out = fopen(path, "w");
    p->styled = 0;
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

PLOT_FN int plot_close(plot *p) {
    fprintf(p->out, "</svg>\n");
    int bad = ferror(p->out);
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

/* y: last baseline */
PLOT_FN void plot_column_label(plot *p, double x, double y, double width, const char *s) {
    const char *blank = strchr(s, ' ');
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

PLOT_FN void plot_curve_style(plot *p) {
    static const char *const light[PLOT_COLOURS] = {"0b62b8", "d1353f", "14845a", "c77700",
                                                    "7a3fb0", "00889c", "a3407f", "6b7580"};
    static const char *const dark[PLOT_COLOURS] = {"5aa9ff", "ff6b70", "3ecf8e", "ffb347",
                                                   "bb8cff", "3fd0e6", "f584c4", "a3adb8"};
    if (p->styled++) return;
    fprintf(p->out,
            "<style>\n.panel{font-size:13px;font-weight:600}.dashed{stroke-dasharray:6 4}\n");
    for (int i = 0; i < PLOT_COLOURS; i++)
        fprintf(
            p->out,
            ".c%d{stroke:#%s;fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
            ".b%d{fill:#%s;opacity:.16}\n",
            i, light[i], i, light[i]);
    fprintf(p->out, "@media (prefers-color-scheme:dark){\n");
    for (int i = 0; i < PLOT_COLOURS; i++)
        fprintf(p->out, ".c%d{stroke:#%s}.b%d{fill:#%s}\n", i, dark[i], i, dark[i]);
    fprintf(p->out, "}\n</style>\n");
}

PLOT_FN double plot_x(plot_box b, const plot_chart *c, double v) {
    return b.x + b.w * plot_at(&c->x, v);
}

PLOT_FN double plot_y(plot_box b, const plot_chart *c, double v) {
    return b.y + b.h * (1 - plot_at(&c->y, v));
}

/* Points of a path, forwards or backwards; those within four pixels of the last one drawn are left
   out. */
PLOT_FN void plot_points(plot *p, plot_box b, const plot_chart *c, const plot_curve *k,
                         const double *y, int back) {
    double last = -1e9;
    for (size_t j = 0; j < k->n; j++) {
        const size_t i = back ? k->n - 1 - j : j;
        const double x = plot_x(b, c, k->x[i]);
        if (fabs(x - last) < 4 && j + 1 < k->n) continue;
        fprintf(p->out, "%s%.1f %.1f", j == 0 && !back ? "M" : "L", x, plot_y(b, c, y[i]));
        last = x;
    }
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
    if (c->title) plot_text(p, b.x, b.y - 10, PLOT_LEFT, "panel", c->title);
    if (c->x_label) plot_text(p, b.x + b.w / 2, b.y + b.h + 36, PLOT_CENTRE, "note", c->x_label);
    if (!c->y_label) return;
    fprintf(p->out, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", b.x - 42, b.y + b.h / 2);
    plot_text(p, 0, 0, PLOT_CENTRE, "note", c->y_label);
    fprintf(p->out, "</g>\n");
}

/* Bands first, lines on top of all of them. Axes stand outside the box: plot_cell() leaves room for
   them. */
PLOT_FN void plot_curves(plot *p, plot_box b, const plot_chart *c) {
    plot_curve_style(p);
    plot_axes(p, b, c);
    for (size_t i = 0; i < c->curves; i++) {
        const plot_curve *k = &c->curve[i];
        if (!k->lo || !k->hi || k->n == 0) continue;
        fprintf(p->out, "<path class=\"b%d\" d=\"", k->colour % PLOT_COLOURS);
        plot_points(p, b, c, k, k->hi, 0);
        plot_points(p, b, c, k, k->lo, 1);
        fprintf(p->out, "Z\"/>\n");
    }
    for (size_t i = 0; i < c->curves; i++) {
        const plot_curve *k = &c->curve[i];
        if (k->n == 0) continue;
        fprintf(p->out, "<path class=\"c%d%s\" d=\"", k->colour % PLOT_COLOURS,
                k->dashed ? " dashed" : "");
        plot_points(p, b, c, k, k->y, 0);
        fprintf(p->out, "\"/>\n");
    }
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

/* Which curve is named at the end of each row? It stands at its last value, or at the nearest free
   row. */
PLOT_FN void plot_end_labels(const plot_canvas *a, const plot_chart *c, int *label) {
    for (int r = 0; r < a->h; r++) label[r] = -1;
    for (size_t i = 0; i < c->curves; i++) {
        const plot_curve *k = &c->curve[i];
        if (k->n == 0) continue;
        int want = (int)((a->h - 1) * (1 - plot_at(&c->y, k->y[k->n - 1])) + 0.5);
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
    n = (int)plot_ticks(&c->y, 6, tick);
    for (int r = 0; r < a.h; r++) {
        char text[32] = "";
        for (int i = 0; i < n; i++)
            if ((int)((a.h - 1) * (1 - plot_at(&c->y, tick[i])) + 0.5) == r)
                snprintf(text, sizeof text, "%g", tick[i]);
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
#endif /* PLOT_H */
