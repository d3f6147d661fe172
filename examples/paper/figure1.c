/* figure1: CartPole and InvertedPendulum with ten agents, three of which are Byzantine in one of
   three ways; six resilient rules, the mean, and vanilla policy gradient with the mean. And what
   the paper does not show: does the Hessian term earn its cost? Recipes: tasks.h. The seeds here
   were not used to choose them. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "curves.h"
#include "tasks.h"

enum { ATTACKS = 3, FLIPPING = 2, VARIANTS = 2, FIRST_SEED = 101 };
enum { MAX_TRIALS = TASKS * (ATTACKS * LEARNERS + VARIANTS) * MAX_SEEDS };

/* MDA under sign flipping once more, without parts: the second trajectory serves for a second
   gradient */
static const learner variants[VARIANTS] = {{"no Hessian term", AGG_MDA, 1, 0},
                                           {"no memory either", AGG_MDA, 1, 1}};

typedef struct figure {
    attack attacks[ATTACKS];
    trial trials[MAX_TRIALS];
    size_t count, seeds;
    int quick, authors;
    double seconds;
    int resumed;
} figure;

/* ---- the runs: [task][attack][learner][seed], then [task][variant][seed] */
static const trial *runs_of(const figure *f, int t, int a, int l) {
    return &f->trials[(size_t)((t * ATTACKS + a) * LEARNERS + l) * f->seeds];
}

/* 0: MDA itself */
static const trial *variant_runs(const figure *f, int t, int v) {
    if (v == 0) return runs_of(f, t, FLIPPING, 0);
    return &f->trials[(size_t)(TASKS * ATTACKS * LEARNERS + t * VARIANTS + v - 1) * f->seeds];
}

static void plan(figure *f) {
    f->attacks[0] = attack_of_vector(AGG_ATTACK_NOISE);
    f->attacks[1] = attack_of_kind(RN_ATTACK_RANDOM_ACTION, "random action");
    f->attacks[FLIPPING] = attack_of_vector(AGG_ATTACK_SIGN_FLIP);
    for (int t = 0; t < TASKS; t++)
        for (int a = 0; a < ATTACKS; a++)
            for (int l = 0; l < LEARNERS; l++)
                for (size_t s = 0; s < f->seeds; s++)
                    f->trials[f->count++] =
                        trial_make(&tasks[f->authors][t], learner_of(l, f->authors), &f->attacks[a],
                                   FIRST_SEED + s);
    for (int t = 0; t < TASKS && !f->authors; t++)
        for (int v = 0; v < VARIANTS; v++)
            for (size_t s = 0; s < f->seeds; s++)
                f->trials[f->count++] =
                    trial_make(&tasks[0][t], &variants[v], &f->attacks[FLIPPING], FIRST_SEED + s);
    for (size_t i = 0; i < f->count; i++)
        f->trials[i].trajectories = f->quick ? 600 : f->authors ? 1800 : 1000;
}

/* ---- what they say */
/* its score there, by linear interpolation */
static double at_steps(const trial *t, double steps) {
    for (size_t p = 1; p < t->points; p++) {
        const double from = t->steps[p - 1], to = t->steps[p];
        if (steps <= to)
            return t->score[p - 1] + (t->score[p] - t->score[p - 1]) * (steps - from) / (to - from);
    }
    return t->score[t->points - 1];
}

/* what every run of the comparison has */
static double common_steps(const figure *f, int task_index) {
    double least = 1e300;
    for (int v = 0; v <= VARIANTS; v++)
        for (size_t r = 0; r < f->seeds; r++) {
            const trial *t = variant_runs(f, task_index, v) + r;
            least = fmin(least, t->steps[t->points - 1]);
        }
    return least;
}

static series series_by_steps(const figure *f, const trial *t, double steps) {
    static double value[MAX_SEEDS * MAX_POINTS];
    series s;
    s.name = t->learner->name;
    s.n = 61;
    for (size_t p = 0; p < s.n; p++) s.x[p] = steps * (double)p / (double)(s.n - 1) / 1e6;
    for (size_t r = 0; r < f->seeds; r++)
        for (size_t p = 0; p < s.n; p++) value[r * s.n + p] = at_steps(&t[r], 1e6 * s.x[p]);
    plot_confidence(value, f->seeds, s.n, s.y, s.lo, s.hi);
    return s;
}

/* x from where it is there (and stays); -1: never */
static double first_above(const series *s, double y, int stay) {
    double x = -1;
    for (size_t p = 0; p < s->n; p++) {
        if (s->y[p] >= y && x < 0) x = s->x[p];
        if (s->y[p] < y && stay) x = -1;
    }
    return x;
}

/* at equal environment steps: the average over the first so many of them */
static double average_by_steps(const trial *t, double steps) {
    enum { N = 200 };

    double sum = 0;
    for (int i = 0; i < N; i++) sum += at_steps(t, steps * i / (N - 1));
    return sum / N;
}

static gain gain_by_steps(const figure *f, const trial *a, const trial *b, double steps) {
    double difference[MAX_SEEDS];
    for (size_t r = 0; r < f->seeds; r++)
        difference[r] = average_by_steps(&a[r], steps) - average_by_steps(&b[r], steps);
    return gain_of(difference, f->seeds);
}

/* ---- claims */
static void claim_reach(paper_claims *c, const figure *f, int t, int a, double y, double by,
                        int stay, int rules, const char *what) {
    char text[256] = "", claim[200];
    double latest = 0;
    for (int l = 0; l < rules; l++) {
        const series s = series_of(runs_of(f, t, a, l), f->seeds);
        const double x = first_above(&s, y, stay);
        const size_t n = strlen(text);
        if (x < 0)
            snprintf(text + n, sizeof text - n, "%s%s never", l ? ", " : "", s.name);
        else
            snprintf(text + n, sizeof text - n, "%s%s %g", l ? ", " : "", s.name, x);
        latest = x < 0 ? 1e9 : fmax(latest, x);
    }
    snprintf(claim, sizeof claim, "%s, %s: %s", tasks[0][t].name, f->attacks[a].name, what);
    const int undecided = f->quick && by > 600;
    paper_claim(c, latest <= by ? 1 : -undecided, claim, "mean return %s %g: %s",
                stay ? "from then on at least" : "first at least", y, text);
}

/* all six beat both baselines */
static void claim_beats(paper_claims *c, const figure *f, int t, int a) {
    gain least = {1e300, 0, 0};
    int all = 1, rule = 0;
    char claim[160];
    for (int l = 0; l < ROBUST; l++)
        for (int b = SM; b <= PG_SM; b++) {
            const gain g = gain_over(runs_of(f, t, a, l), runs_of(f, t, a, b), f->seeds, 0);
            const int v = verdict(g);
            if (g.mean < least.mean) least = g, rule = l;
            if (v < 1 && all != 0) all = v;
        }
    snprintf(claim, sizeof claim, "%s, %s: all six rules beat SM and PG-SM", tasks[0][t].name,
             f->attacks[a].name);
    paper_claim(c, all, claim, "least: %s, by %.0f [%.0f, %.0f] on average over the curve",
                learners[rule].name, least.mean, least.lo, least.hi);
}

static void claim_gain(paper_claims *c, const char *claim, gain g) {
    paper_claim(c, verdict(g), claim, "%+.0f [%.0f, %.0f] on average over the curve", g.mean, g.lo,
                g.hi);
}

static void claim_fails(paper_claims *c, const figure *f, int t) {
    const series sm = series_of(runs_of(f, t, FLIPPING, SM), f->seeds);
    const series pg = series_of(runs_of(f, t, FLIPPING, PG_SM), f->seeds);
    const double limit = tasks[0][t].best / 10, a = final_return(&sm), b = final_return(&pg);
    char claim[120];
    snprintf(claim, sizeof claim, "%s, sign flipping: SM and PG-SM fail", tasks[0][t].name);
    paper_claim(c, a < limit && b < limit, claim, "at the end SM %.0f, PG-SM %.0f of %g", a, b,
                tasks[0][t].best);
}

/* the six rules together */
static void claim_no_failure(paper_claims *c, const figure *f, int t) {
    size_t failed = 0;
    char claim[120];
    for (int a = 0; a < ATTACKS; a++)
        failed += tally_of(runs_of(f, t, a, 0), ROBUST * f->seeds, good_return[t]).failed;
    snprintf(claim, sizeof claim, "%s: no run of the six rules ends below %g", tasks[0][t].name,
             good_return[t]);
    paper_claim(c, f->quick && failed ? -1 : !failed, claim, "%d of %d do", (int)failed,
                (int)(ATTACKS * ROBUST * f->seeds));
}

static void claims_of_the_paper(paper_claims *c, const figure *f) {
    char text[160];
    paper_note(c, "What the paper says. Its vanilla PG was not matched; here it %s.",
               f->authors ? "is not either: these are the settings of the authors' code"
                          : "has the same trajectories, step rule and baseline");
    for (int a = 0; a < ATTACKS; a++)
        claim_reach(c, f, 0, a, 495, 1000, 0, ROBUST,
                    "all six rules reach 500 within 1000 trajectories");
    for (int a = 0; a < ATTACKS; a++) claim_reach(c, f, 1, a, 990, 1800, 0, 1, "MDA reaches 1000");
    for (int a = 0; a < ATTACKS; a++) claim_beats(c, f, 1, a);
    claim_fails(c, f, 1);
    for (int t = 0; t < TASKS; t++)
        for (int a = 0; a < ATTACKS; a++) {
            snprintf(text, sizeof text, "%s, %s: SM beats PG-SM", tasks[0][t].name,
                     f->attacks[a].name);
            claim_gain(c, text,
                       gain_over(runs_of(f, t, a, SM), runs_of(f, t, a, PG_SM), f->seeds, 0));
        }
}

static void claims_beyond(paper_claims *c, const figure *f) {
    char text[160];
    paper_note(c, "Past the paper.");
    for (int a = 0; a < ATTACKS; a++)
        claim_reach(c, f, 0, a, 475, 300, 1, ROBUST,
                    "all six have 475 by 300 trajectories, and keep it");
    for (int a = 0; a < ATTACKS; a++)
        claim_reach(c, f, 1, a, 990, 800, 1, ROBUST,
                    "all six rules have 1000 by 800 trajectories, and keep it");
    claim_fails(c, f, 0);
    for (int t = 0; t < TASKS; t++) claim_no_failure(c, f, t);
    paper_note(c, "Does the Hessian term earn its cost? MDA under sign flipping against the same "
                  "without it, the second trajectory of each round spent on a second gradient "
                  "(momentum), and without memory as well.");
    for (int t = 0; t < TASKS; t++)
        for (int v = 1; v <= VARIANTS; v++)
            for (int steps = 0; steps < 2; steps++) {
                const trial *a = variant_runs(f, t, 0), *b = variant_runs(f, t, v);
                snprintf(text, sizeof text, "%s: better than with %s, at equal %s",
                         tasks[0][t].name, variants[v - 1].name,
                         steps ? "environment steps" : "trajectories");
                claim_gain(c, text,
                           steps ? gain_by_steps(f, a, b, common_steps(f, t))
                                 : gain_over(a, b, f->seeds, 0));
            }
}

/* run by run, as means hide the bad ones: how many of the seeds end below good_return[] */
static void print_failures(paper_claims *c, const figure *f) {
    enum { NAME = 34, NUMBER = 7 };

    paper_note(c,
               "Runs of %d that are below %g (CartPole), %g (InvertedPendulum) in one of the last "
               "%d evaluations:\n",
               (int)f->seeds, good_return[0], good_return[1], TRIAL_LAST);
    paper_row_name(c, NAME, "task, attack");
    for (int l = 0; l < LEARNERS; l++) paper_cell(c, NUMBER, "%s", learners[l].name);
    paper_row_end(c, 1 + LEARNERS);
    for (int t = 0; t < TASKS; t++)
        for (int a = 0; a < ATTACKS; a++) {
            char name[64];
            snprintf(name, sizeof name, "%s, %s", tasks[0][t].name, f->attacks[a].name);
            paper_row_name(c, NAME, name);
            for (int l = 0; l < LEARNERS; l++)
                paper_cell(c, NUMBER, "%d",
                           (int)tally_of(runs_of(f, t, a, l), f->seeds, good_return[t]).failed);
            paper_row_end(c, 0);
        }
}

static void print_finals(paper_claims *c, const figure *f) {
    enum { NAME = 34, NUMBER = 7 };

    paper_note(c, "Return at the end (mean of the last ten evaluations):\n");
    paper_row_name(c, NAME, "task, attack");
    for (int l = 0; l < LEARNERS; l++) paper_cell(c, NUMBER, "%s", learners[l].name);
    paper_row_end(c, 1 + LEARNERS);
    for (int t = 0; t < TASKS; t++)
        for (int a = 0; a < ATTACKS; a++) {
            char name[64];
            snprintf(name, sizeof name, "%s, %s", tasks[0][t].name, f->attacks[a].name);
            paper_row_name(c, NAME, name);
            for (int l = 0; l < LEARNERS; l++) {
                const series s = series_of(runs_of(f, t, a, l), f->seeds);
                paper_cell(c, NUMBER, "%.0f", final_return(&s));
            }
            paper_row_end(c, 0);
        }
}

static int write_claims(const char *path, const figure *f) {
    paper_claims c;
    const char *title = f->authors ? "Figure 1 with the settings of the authors' code" : "Figure 1";
    if (paper_claims_open(&c, path, title) != 0) return -1;
    paper_note(&c,
               "10 agents, 3 of them are Byzantine; %d seeds, %d trajectories per agent; mean "
               "return of %d greedy trajectories every %d.",
               (int)f->seeds, (int)f->trials[0].trajectories, TRIAL_TRAJECTORIES, TRIAL_EVERY);
    print_finals(&c, f);
    print_failures(&c, f);
    claims_of_the_paper(&c, f);
    if (!f->authors) claims_beyond(&c, f);
    paper_claim(&c, f->quick || f->resumed ? -1 : f->seconds <= 1200,
                "the whole figure within 20 minutes", "%.0f s%s (the paper: 480 CPU-hours)",
                f->seconds, f->resumed ? " since it was resumed" : "");
    return paper_claims_close(&c);
}

/* ---- the picture: panels (a) to (f) are the paper's */
enum { NAMES_ROOM = 92 };

static void draw_panel(plot *p, plot_box box, const char *title, const char *x, const char *y,
                       double best, const plot_curve *curve, size_t curves) {
    const plot_chart chart = {
        title, x, y, {0, curve[0].x[curve[0].n - 1], 0}, {0, 1.05 * best, 0}, curve, curves};
    plot_named_curves(p, box, &chart);
    plot_tick_y(p, box, &chart, best);
}

static void draw_variants(plot *p, const figure *f, plot_box page, size_t rows) {
    static series s[VARIANTS + 1];
    static const char *const name[VARIANTS + 1] = {"all of it", "no Hessian", "no memory"};
    plot_curve curve[VARIANTS + 1];
    char title[96];
    for (size_t col = 0; col < 3; col++) {
        const int t = col == 2, by_steps = col > 0;
        const double steps = common_steps(f, t);
        for (int v = 0; v <= VARIANTS; v++) {
            const trial *runs = variant_runs(f, t, v);
            s[v] = by_steps ? series_by_steps(f, runs, steps) : series_of(runs, f->seeds);
            s[v].name = name[v];
            curve[v] = curve_of(&s[v], v == 0 ? 0 : 2 + v, 0);
        }
        snprintf(title, sizeof title, "%s, sign flipping, MDA", tasks[0][t].name);
        draw_panel(p, plot_cell_for_names(page, rows, 3, 2, col, NAMES_ROOM), title,
                   by_steps ? "million environment steps" : "trajectories per agent",
                   col ? NULL : "return", tasks[0][t].best, curve, VARIANTS + 1);
    }
}

/* what stands at the curves; the CSV has the paper's names */
static const char *full_name(int l) {
    return l == SM ? "simple mean" : l == PG_SM ? "PG, mean" : learners[l].name;
}

static void draw_learners(plot *p, const figure *f, plot_box page, size_t rows) {
    static series s[LEARNERS];
    plot_curve curve[LEARNERS];
    char title[96];
    for (int t = 0; t < TASKS; t++)
        for (int a = 0; a < ATTACKS; a++) {
            for (int l = 0; l < LEARNERS; l++) {
                const int k = LEARNERS - 1 - l; /* MDA last, on top */
                s[k] = series_of(runs_of(f, t, a, k), f->seeds);
                s[k].name = full_name(k);
                curve[l] = curve_of(&s[k], k == SM ? 1 : k == 1 ? 6 : k, k >= SM);
            }
            snprintf(title, sizeof title, "%s, %s", tasks[0][t].name, f->attacks[a].name);
            draw_panel(p, plot_cell_for_names(page, rows, 3, (size_t)t, (size_t)a, NAMES_ROOM),
                       title, "trajectories per agent", a ? NULL : "return", tasks[0][t].best,
                       curve, LEARNERS);
        }
}

/* 0, or -1 if it cannot */
static int write_runs(const char *path, const figure *f) {
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    trial_write(out, NULL, 0);
    for (size_t i = 0; i < f->count; i++)
        trial_write(out, &f->trials[i], good_return[f->trials[i].task - tasks[f->authors]]);
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

static int draw(const char *path, const figure *f) {
    static const char *const title[2] = {
        "Figure 1: ten agents, three of them Byzantine",
        "Figure 1, settings of the authors' code: ten agents, three of them Byzantine"};
    static const char *const more[2] = {". (g) to (i): MDA without its parts", ""};
    char note[200];
    plot p;
    const size_t rows = f->authors ? 2 : 3;
    const plot_box page = plot_make_box(14, 66, 1272, 230 * (double)rows);
    if (paper_figure(&p, path, 1300, page.y + page.h + 8, title[f->authors]) != 0) return -1;
    snprintf(note, sizeof note,
             "Return of the learned policy, mean of %d seeds; a curve under the pointer shows its "
             "95 %% confidence%s",
             (int)f->seeds, more[f->authors]);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    draw_learners(&p, f, page, rows);
    if (!f->authors) draw_variants(&p, f, page, rows);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static figure f;
    const unsigned given =
        paper_options(argc, argv, "--quick --authors ",
                      "usage: figure1 [--quick] [--authors]\n"
                      "The paper's figure 1: writes build/figure1.svg, .csv, _runs.csv and .md.\n"
                      "--quick: 2 seeds, 600 trajectories (figure1_quick.*). "
                      "--authors: the settings of the authors' code (figure1_authors.*).\n");
    char name[48], settings[160], part[64], csv[64], runs[64], md[64], svg[64];
    f.quick = (int)(given & 1);
    f.authors = given >> 1 & 1;
    f.seeds = f.quick ? 2 : MAX_SEEDS;
    snprintf(name, sizeof name, "build/figure1%s%s", f.authors ? "_authors" : "",
             f.quick ? "_quick" : "");
    snprintf(part, sizeof part, "%s.part", name);
    snprintf(csv, sizeof csv, "%s.csv", name);
    snprintf(runs, sizeof runs, "%s_runs.csv", name);
    snprintf(md, sizeof md, "%s.md", name);
    snprintf(svg, sizeof svg, "%s.svg", name);
    plan(&f);
    recipe_text(settings, sizeof settings);
    f.seconds = trials_run(f.trials, f.count, part, settings);
    for (size_t i = 0; i < f.count; i++) f.resumed |= f.trials[i].found;
    if (write_claims(md, &f) != 0 || write_csv(csv, f.trials, f.count) != 0 ||
        write_runs(runs, &f) != 0 || draw(svg, &f) != 0)
        return fprintf(stderr, "cannot write %s.*\n", name), 1;
    printf("\nwrote %s, %s, %s and %s\n", svg, csv, runs, md);
    trials_free(f.trials, f.count);
    return 0;
}
