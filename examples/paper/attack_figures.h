/* attack_figures.h - the plan of attacks.c, its places, and its three figures: the return against f,
   rules against attacks, and the cosine along the run */
#ifndef ATTACK_FIGURES_H
#define ATTACK_FIGURES_H
#include "adversaries.h"

enum { DEFENCES = 8, SHOWN_F = 3 };

/* the rows that a conclusion rests on; the first is the default */
typedef struct defence {
    const char *name;
    int train, way, rule;
} defence;

static const defence defences[DEFENCES] = {
    {"CWTM (the default)", TRAIN_DEFAULT, WAY_ALONE, AGG_CWTM},
    {"median clipping, CWTM", TRAIN_DEFAULT, WAY_CLIP, AGG_CWTM},
    {"GM", TRAIN_DEFAULT, WAY_ALONE, AGG_GM},
    {"MDA", TRAIN_DEFAULT, WAY_ALONE, AGG_MDA},
    {"NNM, MDA", TRAIN_DEFAULT, WAY_NNM, AGG_MDA},
    {"NNM twice, MDA", TRAIN_DEFAULT, WAY_NNM_TWICE, AGG_MDA},
    {"CWTM, quarter of the batch", TRAIN_QUARTER, WAY_ALONE, AGG_CWTM},
    {"NNM, MDA, batch 2 (version 0.4)", TRAIN_OLD, WAY_NNM, AGG_MDA}};

/* half the default's trajectories, for whom they are dear */
static const defence cheap = {"CWTM, batch 2, 200 rounds", TRAIN_OLD, WAY_ALONE, AGG_CWTM};

/* how much of each: the quick version is a sample */
typedef struct plan {
    int quick, only_cheap;
    size_t seeds[TASKS], others[TASKS]; /* of the default, of the other defences */
    size_t cheap;                       /* of the cheap one */
    size_t defences;
    size_t rules, rising, attacks; /* the first so many of the lists below */
    size_t tasks, values_f;        /* of rise and map; values of f in rise */
    int first_way, last_way;       /* of the map */
    int rule[AGG_RULE_COUNT], attack[ATTACKS];
} plan;

PLOT_FN plan make_plan_quick(void) {
    static const int rule[4] = {AGG_MDA, AGG_CWTM, AGG_GM, AGG_MEAN};
    static const int attacks[4] = {AGG_ATTACK_SIGN_FLIP, AGG_ATTACK_ALIE, AGG_ATTACK_WORST,
                                   RANDOM_ACTION};
    plan p;
    memset(&p, 0, sizeof p);
    p.quick = 1;
    p.cheap = p.seeds[0] = p.seeds[1] = p.others[0] = p.others[1] = p.rising = p.tasks = 1;
    p.defences = p.values_f = 2;
    p.rules = p.attacks = 4;
    memcpy(p.rule, rule, sizeof rule);
    memcpy(p.attack, attacks, sizeof attacks);
    return p;
}

PLOT_FN plan make_plan(void) {
    plan p;
    memset(&p, 0, sizeof p);
    p.seeds[0] = 20;
    p.cheap = p.seeds[1] = p.others[0] = 10;
    p.others[1] = 5;
    p.defences = DEFENCES;
    p.rules = p.rising = AGG_RULE_COUNT;
    p.attacks = NOBODY;
    p.tasks = TASKS;
    p.values_f = MAX_F + 1;
    p.last_way = WAY_CLIP;
    for (int i = 0; i < AGG_RULE_COUNT; i++) p.rule[i] = i;
    for (int i = 0; i < ATTACKS; i++) p.attack[i] = i;
    return p;
}

PLOT_FN spot spot_of(int k, const defence *d, int a, size_t f) {
    const spot s = {k, d->train, d->way, d->rule, a, f};
    return s;
}

PLOT_FN spot spot_quarter(int k, int w, int rule, int a, size_t f) {
    const spot s = {k, TRAIN_QUARTER, w, rule, a, f};
    return s;
}

/* f = 0: nobody attacks, and the server trusts all */
PLOT_FN spot spot_rise(int k, int w, int rule, size_t f) {
    return spot_quarter(k, w, rule, f ? AGG_ATTACK_WORST : NOBODY, f);
}

/* ---- what is drawn */

/* the tasks, from the first on, whose cells at f = 3 are all there: an interrupted run has fewer */
PLOT_FN int tasks_done(const study *st, const plan *p) {
    for (int k = 0; k < (int)p->tasks; k++)
        for (size_t r = 0; r < p->rising; r++)
            for (int w = 0; w < WAYS; w++) {
                const spot s = spot_rise(k, w, p->rule[r], SHOWN_F);
                if (spot_possible(s) && !study_result(st, s).runs) return k;
            }
    return (int)p->tasks;
}

PLOT_FN int draw_rise(const char *path, const study *st, const plan *p) {
    static const char *const by_f[MAX_F + 1] = {"f = 0", "1", "2", "3", "4"};
    const char *name[AGG_RULE_COUNT], *blank[AGG_RULE_COUNT];
    double value[AGG_RULE_COUNT * (MAX_F + 1)];
    const size_t rows = p->rising;
    const double high = 19 * (double)rows;
    const int done = tasks_done(st, p);
    plot out;
    if (plot_open(&out, path, 1060, 90 + done * (high + 110), "Which rule survives the worst?"))
        return -1;
    plot_text(&out, 20, 54, PLOT_LEFT, "note",
              "Return of the last policy against f, of ten agents; at f = 0 nobody attacks. The "
              "adversaries know rule and rows. A quarter of the default's batch, one seed");
    for (int k = 0; k < done; k++) {
        const double y = 120 + k * (high + 110);
        plot_text(&out, 20, y - 26, PLOT_LEFT, "label", attacked[k].name);
        for (int w = 0; w < WAYS; w++) {
            plot_heat h = {
                rows,     MAX_F + 1, value, w ? blank : name, by_f, {attacked[k].best, 0, 0},
                "return", 0,         0};
            for (size_t r = 0; r < rows; r++) {
                name[r] = st->lists.rule[p->rule[r]].name;
                blank[r] = "";
                for (size_t f = 0; f <= MAX_F; f++)
                    value[r * (MAX_F + 1) + f] =
                        study_result(st, spot_rise(k, w, p->rule[r], f)).mean;
            }
            plot_text(&out, 230 + 235 * w, y - 26, PLOT_CENTRE, "label", ways[w].name);
            plot_heatmap(&out, plot_make_box(125 + 235 * w, y, 210, high), &h);
        }
    }
    return plot_close(&out);
}

PLOT_FN int draw_map(const char *path, const study *st, const plan *p) {
    const char *name[AGG_RULE_COUNT], *cols[ATTACKS];
    static double value[AGG_RULE_COUNT * ATTACKS];
    const size_t n = p->attacks;
    const double high = 19 * (double)p->rules, wide = 72 * (double)n;
    plot out;
    if (plot_open(&out, path, 150 + wide, 100 + (double)p->tasks * (high + 120),
                  "Every rule alone, f = 3"))
        return -1;
    plot_text(
        &out, 20, 54, PLOT_LEFT, "note",
        "Return of the last policy, of ten agents. A quarter of the default's batch, one seed. "
        "Empty: the rule takes fewer adversaries");
    for (int k = 0; k < (int)p->tasks; k++) {
        const double y = 130 + k * (high + 120);
        const plot_heat h = {p->rules, n, value, name, cols, {attacked[k].best, 0, 0},
                             "return", 0, 0};
        for (size_t r = 0; r < p->rules; r++)
            for (size_t a = 0; a < n; a++) {
                name[r] = st->lists.rule[p->rule[r]].name;
                cols[a] = st->lists.attack[p->attack[a]].name;
                value[r * n + a] =
                    study_result(st, spot_quarter(k, WAY_ALONE, p->rule[r], p->attack[a], SHOWN_F))
                        .mean;
            }
        plot_text(&out, 20, y - 40, PLOT_LEFT, "label", attacked[k].name);
        plot_heatmap(&out, plot_make_box(125, y, wide, high), &h);
    }
    return plot_close(&out);
}

PLOT_FN int draw_cosine(const char *path, const study *st, const plan *p) {
    static result r[DEFENCES];
    plot_curve curve[DEFENCES];
    plot out;
    const int shown = (int)p->defences;
    const size_t charts = p->quick ? 1 : 2;
    if (paper_figure(&out, path, 1000, 100 + 290 * TASKS + 20 * DEFENCES, "How far is it turned?"))
        return -1;
    plot_text(&out, 20, 54, PLOT_LEFT, "note",
              "Cosine of the aggregate to the honest mean along the run, under the worst attack");
    for (int k = 0; k < TASKS; k++)
        for (size_t c = 0; c < charts; c++) {
            char title[64];
            plot_chart chart = {
                title,        "share of the rounds, %", "cosine", {0, 100, 0}, {-1, 1, 0}, curve,
                (size_t)shown};
            snprintf(title, sizeof title, "%s, f = %d", attacked[k].name, (int)(SHOWN_F + c));
            for (int i = 0; i < shown; i++) {
                const plot_curve y = {defences[i].name,
                                      POINTS,
                                      r[i].x + 1,
                                      r[i].curve + 1,
                                      NULL,
                                      NULL,
                                      i,
                                      defences[i].train != TRAIN_DEFAULT};
                r[i] = study_result(st, spot_of(k, &defences[i], AGG_ATTACK_WORST, SHOWN_F + c));
                for (size_t j = 1; j <= POINTS; j++) r[i].x[j] = 100.0 * (double)j / POINTS;
                curve[i] = y;
            }
            plot_curves(&out, plot_make_box(70 + 480 * (double)c, 100 + 290 * k, 400, 200), &chart);
        }
    for (int i = 0; i < shown; i += 2)
        plot_legend(&out, 70, 90 + 290 * TASKS + 11 * i, curve + i, 2);
    return plot_close(&out);
}
#endif /* ATTACK_FIGURES_H */
