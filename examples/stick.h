/* stick.h - the six tasks as stick figures: animated SVG that plays in a browser and inside an
   <img>, light and dark.

       const stick_task *task = stick_find("hopper");       // the case of letters is no matter
       static stick_film film;                              // 120 kB
       stick_begin(&film, task);
       stick_add(&film, &state, 0);                         // a pose, every stick_every(task) steps
       if (stick_write(&film, 0, "hop.svg") != 0) return 1; // the film
       if (stick_write(&film, 8, "hop.svg") != 0) return 1; // or hop_000.svg .. hop_007.svg

   A capsule is a thick line with round ends. A browser draws straight lines from pose to pose, so
   that 25 a second look smooth. The figure moves in the coordinates of the camera, and the ground
   with its metres slides below it. */
#ifndef STICK_H
#define STICK_H
#include "envs/cartpole.h"
#include "envs/inverted_pendulum.h"
#include "envs/inverted_double_pendulum.h"
#include "envs/hopper.h"
#include "envs/walker2d.h"
#include "envs/half_cheetah.h"
#include "plot.h"

/* ---- the tasks */
enum { STICK_TASKS = 6, STICK_NUMBERS = 17 }; /* no observation or action is longer */

/* of any task: a body of planar.h becomes what its task's _env() makes it */
typedef union stick_state {
    cartpole cart;
    planar_body body;
} stick_state;

PLOT_FN rn_env stick_cart(stick_state *s) { return cartpole_env(&s->cart); }

PLOT_FN rn_env stick_pole(stick_state *s) { return inverted_pendulum_env(&s->body); }

PLOT_FN rn_env stick_poles(stick_state *s) { return inverted_double_pendulum_env(&s->body); }

PLOT_FN rn_env stick_hop(stick_state *s) { return hopper_env(&s->body); }

PLOT_FN rn_env stick_walk(stick_state *s) { return walker2d_env(&s->body); }

PLOT_FN rn_env stick_run(stick_state *s) { return half_cheetah_env(&s->body); }

/* CartPole is no task of planar.h: only joints and capsules, to be drawn */
/* clang-format off */
static const planar_model stick_cart_model = {
    "cartpole", 2, 2, 0, 0, 1, 0.02, 0, 0, 0, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0},
    {{"slider", "cart", -1, PLANAR_SLIDE_X, 0, 0, 0, 0, 0, 0, 0, 0, 0},
     {"hinge",  "pole", 0,  PLANAR_HINGE,   0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {{{0, 0, 0, 0, 0, 0}}},
    {{"cart", 0, -0.15, 0, 0.15, 0, 0.1,  0},
     {"pole", 1, 0,     0, 0,    1, 0.04, 0}},
    {{0, 0}}};

/* clang-format on */

typedef struct stick_task {
    const char *name;
    rn_env (*env)(stick_state *s);
    const planar_model *model;
    size_t stride;       /* a state begins with its positions, so many numbers apart */
    int follow;          /* the camera goes along */
    double height;       /* metres from the lower edge of the picture to the upper */
    const char *colours; /* a digit for each capsule: c0 .. c7 of plot.h */
} stick_task;

/* clang-format off */
static const stick_task stick_tasks[STICK_TASKS] = {
    {"Hopper",                 stick_hop,   &hopper_model,                   1, 1, 2.3, "7013"},
    {"Walker2d",               stick_walk,  &walker2d_model,                 1, 1, 1.9, "7000333"},
    {"HalfCheetah",            stick_run,   &half_cheetah_model,             1, 1, 1.5, "77000333"},
    {"CartPole",               stick_cart,  &stick_cart_model,               2, 0, 2.4, "03"},
    {"InvertedPendulum",       stick_pole,  &inverted_pendulum_model,        1, 0, 1.3, "03"},
    {"InvertedDoublePendulum", stick_poles, &inverted_double_pendulum_model, 1, 0, 1.9, "031"}};

/* clang-format on */

/* whatever the case of ASCII letters */
PLOT_FN int stick_same(const char *a, const char *b) {
    for (; *a && *b && (*a == *b || ((*a ^ *b) == 32 && (*a | 32) >= 'a' && (*a | 32) <= 'z')); a++)
        b++;
    return *a == *b;
}

/* NULL: there is none */
PLOT_FN const stick_task *stick_find(const char *name) {
    for (int i = 0; i < STICK_TASKS; i++)
        if (stick_same(name, stick_tasks[i].name)) return &stick_tasks[i];
    return NULL;
}

/* seconds */
PLOT_FN double stick_step(const stick_task *k) { return k->model->timestep * k->model->frame_skip; }

/* steps from pose to pose: 20 or 25 poses a second */
PLOT_FN int stick_every(const stick_task *k) {
    const int n = (int)(0.04001 / stick_step(k));
    return n ? n : 1;
}

/* ---- recording */
enum { STICK_FRAMES = 1500, STICK_NOTE = 160 };

typedef struct stick_film {
    const stick_task *task;
    double seconds; /* from one pose to the next */
    size_t frames;
    char note[STICK_NOTE]; /* below the title */
    double q[STICK_FRAMES][PLANAR_JOINTS];
    double camera[STICK_FRAMES]; /* the x in the middle of the picture */
} stick_film;

PLOT_FN void stick_begin(stick_film *f, const stick_task *task) {
    f->task = task;
    f->seconds = stick_step(task) * stick_every(task);
    f->frames = 0;
    f->note[0] = 0;
}

/* cut: the camera jumps to the figure */
PLOT_FN void stick_add(stick_film *f, const stick_state *s, int cut) {
    const size_t t = f->frames;
    double *q = f->q[t % STICK_FRAMES];
    if (t == STICK_FRAMES) return; /* the film is full */
    for (int i = 0; i < f->task->model->joints; i++)
        memcpy(&q[i], (const char *)s + (size_t)i * f->task->stride * sizeof *q, sizeof *q);
    f->camera[t] = !f->task->follow ? 0
                   : cut || t == 0  ? q[0]
                                    : f->camera[t - 1] + 0.15 * (q[0] - f->camera[t - 1]);
    f->frames++;
}

/* ---- drawing */
/* frames from .. from + count - 1 in a box of w x h pixels; one alone is a still */
typedef struct stick_view {
    const stick_film *film;
    size_t from, count;
    double w, h, scale, ground; /* scale: pixels a metre; ground: y of z = 0 */
} stick_view;

/* of the world's x = 0 on the picture */
PLOT_FN double stick_left(const stick_view *v, size_t t) {
    return v->w / 2 - v->scale * v->film->camera[t];
}

/* M x y x y: capsule i of frame t as a line */
PLOT_FN void stick_line(plot *p, const stick_view *v, size_t t, int i) {
    const double x = stick_left(v, t);
    planar_segment s[PLANAR_CAPSULES];
    planar_segments(v->film->task->model, v->film->q[t], s);
    fprintf(p->out, "M%.1f %.1f %.1f %.1f", x + v->scale * s[i].ax, v->ground - v->scale * s[i].az,
            x + v->scale * s[i].bx, v->ground - v->scale * s[i].bz);
}

/* its values follow, and "/> */
PLOT_FN void stick_animate(plot *p, const stick_view *v, const char *what) {
    fprintf(p->out, "<%s dur=\"%.2fs\" repeatCount=\"indefinite\" values=\"", what,
            v->film->seconds * (double)v->count);
}

PLOT_FN void stick_figure(plot *p, const stick_view *v) {
    const stick_task *k = v->film->task;
    for (int i = k->model->capsules; i-- > 0;) { /* the first of the table on top */
        fprintf(p->out, "<path class=\"c%c\" style=\"stroke-width:%.1f\" d=\"", k->colours[i],
                2 * v->scale * k->model->capsule[i].radius);
        stick_line(p, v, v->from, i);
        fprintf(p->out, "\">");
        if (v->count > 1) {
            stick_animate(p, v, "animate attributeName=\"d\"");
            for (size_t t = 0; t < v->count; t++) {
                fputs(t ? ";" : "", p->out);
                stick_line(p, v, v->from + t, i);
            }
            fprintf(p->out, "\"/>");
        }
        fprintf(p->out, "</path>\n");
    }
}

/* every other one is a tile */
PLOT_FN void stick_metres(plot *p, const stick_view *v, double low, double high) {
    for (double x = floor(low); x <= high; x++) {
        char number[32];
        snprintf(number, sizeof number, "%.0f", x + 0.0); /* no -0 */
        if (fmod(x, 2) == 0)
            plot_rect(p, plot_make_box(v->scale * x, v->ground, v->scale, v->h - v->ground), 0,
                      "b7");
        plot_line(p, v->scale * x, v->ground, v->scale * x, v->ground + 6, "axis");
        plot_text(p, v->scale * x, v->h - 9, PLOT_CENTRE, "note", number);
    }
}

PLOT_FN void stick_ground(plot *p, const stick_view *v) {
    const double half = v->w / 2 / v->scale + 0.2; /* and the width of a number */
    double low = v->film->camera[v->from], high = low;
    for (size_t t = 1; t < v->count; t++) {
        low = fmin(low, v->film->camera[v->from + t]);
        high = fmax(high, v->film->camera[v->from + t]);
    }
    fprintf(p->out, "<g transform=\"translate(%.1f)\">\n", stick_left(v, v->from));
    stick_metres(p, v, low - half, high + half);
    if (low < high) {
        stick_animate(p, v, "animateTransform attributeName=\"transform\" type=\"translate\"");
        for (size_t t = 0; t < v->count; t++)
            fprintf(p->out, "%s%.1f", t ? ";" : "", stick_left(v, v->from + t));
        fprintf(p->out, "\"/>\n");
    }
    fprintf(p->out, "</g>\n");
    plot_line(p, 0, v->ground, v->w, v->ground, "axis");
}

/* a panel of plot.h: frames from .. from + count - 1 */
PLOT_FN void stick_draw(plot *p, plot_box b, const stick_film *f, size_t from, size_t count) {
    const stick_view v = {f, from, count, b.w, b.h, b.h / f->task->height, 0.84 * b.h};
    plot_curve_style(p);
    /* an <svg> inside clips */
    fprintf(p->out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">\n", b.x, b.y, b.w,
            b.h);
    stick_ground(p, &v);
    stick_figure(p, &v);
    fprintf(p->out, "</svg>\n");
}

PLOT_FN int stick_page(const stick_film *f, size_t from, size_t count, const char *path) {
    plot p;
    if (plot_open(&p, path, 760, 420, f->task->name) != 0) return -1;
    plot_text(&p, 20, 54, PLOT_LEFT, "note", f->note);
    stick_draw(&p, plot_make_box(20, 70, 720, 334), f, from, count);
    return plot_close(&p);
}

/* The film, or so many stills of it with numbers before the last dot of path. 0, or -1 if it cannot
   be written. */
PLOT_FN int stick_write(const stick_film *f, size_t stills, const char *path) {
    const char *dot = strrchr(path, '.');
    const int stem = (int)(dot && !strchr(dot, '/') ? (size_t)(dot - path) : strlen(path));
    if (stills == 0) return stick_page(f, 0, f->frames, path);
    for (size_t i = 0; i < stills; i++) {
        char name[1024];
        if (snprintf(name, sizeof name, "%.*s_%03d.svg", stem, path, (int)i) >= (int)sizeof name ||
            stick_page(f, i * f->frames / stills, 1, name) != 0)
            return -1;
    }
    return 0;
}
#endif /* STICK_H */
