/* plot.h - small SVG figures for the examples: one C99 header, no dependencies, readable in light and dark mode.

       plot p;
       if (plot_open(&p, "figure.svg", 900, 600, "What the figure says") != 0) return 1;
       plot_text(&p, 20, 50, PLOT_LEFT, "note", "smaller words below the title");
       plot_heatmap(&p, plot_make_box(120, 90, 700, 400), &heat);
       return plot_close(&p);                              // 0 if every byte reached the file

   A figure is a page in pixels, y down. A panel is a box on it. A scale maps values to 0..1, linear or logarithmic;
   axes and colour bars take their ticks from it. Colours are CSS classes, defined for light and for dark mode:
       text classes    title, label, note        lines   axis, grid
       fills           k0 .. k23                 a ramp from calm to loud; t0 .. t23 is readable text on top of it
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
#define PLOT_SHADES 24

typedef struct plot {
    FILE *out;
} plot;
typedef struct plot_box {
    double x, y, w, h;
} plot_box;
typedef struct plot_scale {
    double lo, hi; /* values at 0 and 1 */
    int    log;    /* 0 = linear; else 0 < lo */
} plot_scale;
typedef enum plot_align { PLOT_LEFT, PLOT_CENTRE, PLOT_RIGHT } plot_align;

typedef struct plot_heat {
    size_t             rows, cols;
    const double      *value;     /* rows x cols */
    const char *const *row_label; /* rows */
    const char *const *col_label; /* cols; a long one is broken at its first blank */
    plot_scale         scale;
    const char        *scale_label;
    size_t             split_row, split_col; /* a small gap before this row or column; 0 = none */
} plot_heat;

PLOT_FN plot_box plot_make_box(double x, double y, double w, double h) {
    plot_box b;
    b.x = x, b.y = y, b.w = w, b.h = h;
    return b;
}

/* ---- scales and ticks ------------------------------------------------------------------------------------------ */
PLOT_FN double plot_at(const plot_scale *s, double v) { /* 0..1, clamped; what is not a number goes to the loud end */
    double t = s->log ? (v > 0 ? log(v / s->lo) / log(s->hi / s->lo) : 0) : (v - s->lo) / (s->hi - s->lo);
    return t >= 0 && t <= 1 ? t : (t < 0 ? 0 : 1);
}

/* At most max ticks: multiples of 1, 2 or 5 times a power of ten; on a logarithmic scale those themselves, if there is
   room, or powers of ten. */
PLOT_FN size_t plot_ticks(const plot_scale *s, size_t max, double *tick) {
    size_t n = 0;
    if (s->log) {
        static const double digit[3] = {1, 2, 5};
        int a = (int)floor(log10(s->lo)), b = (int)ceil(log10(s->hi)), step = 1;
        int digits = 3 * (size_t)(b - a) > max ? 1 : 3;
        while ((size_t)((b - a) / step + 1) > max) step++;
        for (int e = a; e <= b; e += step)
            for (int k = 0; k < digits && n < max; k++) {
                double v = digit[k] * pow(10, e);
                if (v > s->lo * 0.999 && v < s->hi * 1.001) tick[n++] = v;
            }
        return n;
    }
    double raw = (s->hi - s->lo) / (double)(max > 1 ? max - 1 : 1), unit = pow(10, floor(log10(raw)));
    double step = raw <= unit ? unit : raw <= 2 * unit ? 2 * unit : raw <= 5 * unit ? 5 * unit : 10 * unit;
    for (double k = ceil(s->lo / step - 1e-9); k * step <= s->hi + 1e-9 * step && n < max; k++) tick[n++] = k * step;
    return n;
}

/* A number of at most five characters or so: 0  .004  .27  3.1  42  7e6 */
PLOT_FN const char *plot_number(char buffer[32], double v) {
    double a = fabs(v);
    if (!(a <= 1e300)) return "\xE2\x88\x9E"; /* infinity sign */
    if (a >= 99999.5) snprintf(buffer, 32, "%.0e", v);
    else if (a >= 9.95) snprintf(buffer, 32, "%.0f", v);
    else if (a >= 0.995) snprintf(buffer, 32, "%.1f", v);
    else if (a >= 0.00995) snprintf(buffer, 32, "%.2f", v);
    else if (a >= 0.0005) snprintf(buffer, 32, "%.3f", v);
    else return "0";
    char *e = strchr(buffer, 'e');
    if (e) { /* 7e+06 -> 7e6 */
        char *digits = e + 1 + strspn(e + 1, "+0");
        memmove(e + 1, digits, strlen(digits) + 1);
    }
    return buffer;
}

/* ---- page ------------------------------------------------------------------------------------------------------ */
PLOT_FN int plot_channel(const int *anchor, int stride, double t) { /* five anchors, straight lines between them */
    int    k = t >= 1 ? 3 : (int)(4 * t);
    double u = 4 * t - k;
    return (int)(0.5 + anchor[k * stride] * (1 - u) + anchor[(k + 1) * stride] * u);
}

PLOT_FN void plot_ramp(FILE *out, const int *anchor) { /* anchor: 5 x (r, g, b) */
    for (int i = 0; i < PLOT_SHADES; i++) {
        double t = (double)i / (PLOT_SHADES - 1);
        int    r = plot_channel(anchor, 3, t), g = plot_channel(anchor + 1, 3, t), b = plot_channel(anchor + 2, 3, t);
        double light = 0.299 * r + 0.587 * g + 0.114 * b;
        fprintf(out, ".k%d{fill:#%02x%02x%02x}.t%d{fill:%s}\n", i, (unsigned)r, (unsigned)g, (unsigned)b, i,
                light > 128 ? "#15202b" : "#ffffff");
    }
}

PLOT_FN void plot_style(FILE *out) {
    static const int light[15] = {214, 236, 231, 250, 240, 184, 246, 173, 85, 214, 60, 50, 110, 8, 48};
    static const int dark[15] = {22, 62, 64, 92, 92, 40, 190, 120, 24, 232, 72, 52, 255, 128, 150};
    fprintf(out, "<style>\n"
                 "text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif;"
                 "font-size:12px;fill:#1f2933}\n"
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
        if (s[i] == '<') fputs("&lt;", out);
        else if (s[i] == '&') fputs("&amp;", out);
        else fputc(s[i], out);
    }
}

PLOT_FN void plot_text_n(plot *p, double x, double y, plot_align align, const char *css, const char *s, size_t n) {
    static const char *const anchor[] = {"start", "middle", "end"};
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor[align], css);
    plot_escape(p->out, s, n);
    fprintf(p->out, "</text>\n");
}

PLOT_FN void plot_text(plot *p, double x, double y, plot_align align, const char *css, const char *s) {
    plot_text_n(p, x, y, align, css, s, strlen(s));
}

PLOT_FN void plot_rect(plot *p, plot_box b, double radius, const char *css) {
    fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%g\" class=\"%s\"/>\n", b.x, b.y,
            b.w, b.h, radius, css);
}

PLOT_FN void plot_line(plot *p, double x0, double y0, double x1, double y1, const char *css) {
    fprintf(p->out, "<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"%s\"/>\n", x0, y0, x1, y1, css);
}

PLOT_FN int plot_open(plot *p, const char *path, double w, double h, const char *title) { /* 0, or -1 if it cannot */
    p->out = fopen(path, "w");
    if (!p->out) return -1;
    fprintf(p->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
                    "role=\"img\">\n<title>", w, h, w, h);
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

/* ---- panels ---------------------------------------------------------------------------------------------------- */
PLOT_FN void plot_axis_x(plot *p, plot_box b, const plot_scale *s, size_t max) { /* ticks below the box */
    double tick[32];
    size_t n = plot_ticks(s, max < 32 ? max : 32, tick);
    for (size_t i = 0; i < n; i++) {
        char   text[32];
        double x = b.x + b.w * plot_at(s, tick[i]);
        plot_line(p, x, b.y + b.h, x, b.y + b.h + 4, "axis");
        snprintf(text, sizeof text, "%g", tick[i]);
        plot_text(p, x, b.y + b.h + 17, PLOT_CENTRE, "note", text);
    }
}

PLOT_FN int plot_shade(const plot_scale *s, double v) { return (int)(plot_at(s, v) * (PLOT_SHADES - 1) + 0.5); }

PLOT_FN void plot_colour_bar(plot *p, plot_box b, const plot_scale *s, const char *label) {
    char css[16];
    for (int i = 0; i < PLOT_SHADES; i++) {
        snprintf(css, sizeof css, "k%d", i);
        plot_rect(p, plot_make_box(b.x + b.w * i / PLOT_SHADES, b.y, b.w / PLOT_SHADES + 0.4, b.h), 0, css);
    }
    plot_axis_x(p, b, s, 10);
    plot_text(p, b.x - 12, b.y + b.h - 1, PLOT_RIGHT, "note", label);
}

PLOT_FN void plot_column_label(plot *p, double x, double y, double width, const char *s) { /* y: last baseline */
    const char *blank = strchr(s, ' ');
    if (blank && (double)strlen(s) * 6.5 > width) {
        plot_text_n(p, x, y - 15, PLOT_CENTRE, "label", s, (size_t)(blank - s));
        s = blank + 1;
    }
    plot_text(p, x, y, PLOT_CENTRE, "label", s);
}

/* Cells fill the box; row labels stand to its left, column labels above it, the colour bar below it. */
PLOT_FN void plot_heatmap(plot *p, plot_box b, const plot_heat *h) {
    const double gap_x = h->split_col ? 8 : 0, gap_y = h->split_row ? 8 : 0;
    double       cw = (b.w - gap_x) / (double)h->cols, ch = (b.h - gap_y) / (double)h->rows;
    for (size_t c = 0; c < h->cols; c++) {
        double x = b.x + cw * (double)c + (c >= h->split_col ? gap_x : 0);
        plot_column_label(p, x + cw / 2, b.y - 8, cw, h->col_label[c]);
        for (size_t r = 0; r < h->rows; r++) {
            double y = b.y + ch * (double)r + (r >= h->split_row ? gap_y : 0);
            double v = h->value[r * h->cols + c];
            char   css[16], text[32];
            int    shade = plot_shade(&h->scale, v);
            if (c == 0) plot_text(p, b.x - 8, y + ch / 2 + 4, PLOT_RIGHT, "label", h->row_label[r]);
            snprintf(css, sizeof css, "k%d", shade);
            plot_rect(p, plot_make_box(x + 1, y + 1, cw - 2, ch - 2), 3, css);
            snprintf(css, sizeof css, "t%d", shade);
            plot_text(p, x + cw / 2, y + ch / 2 + 4, PLOT_CENTRE, css, plot_number(text, v));
        }
    }
    plot_colour_bar(p, plot_make_box(b.x + b.w * 0.45, b.y + b.h + 20, b.w * 0.55, 10), &h->scale, h->scale_label);
}
#endif /* PLOT_H */
