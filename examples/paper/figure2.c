/* figure2: HalfCheetah, Hopper, InvertedDoublePendulum, Walker2d; ten agents, three of them add
   random noise to what they send. Res-NHARPG with MDA against N-HARPG with the mean (SM) and
   vanilla policy gradient with the mean (PG-SM); and MDA without adversaries, to show what the
   attack costs. Walker2d comes a second time, with longer trajectories. The seeds here were not
   used to choose the recipes. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "curves.h"
#include "hard_tasks.h"

/* HONEST: MDA once more, no adversaries */
enum { MDA, SM, PG_SM, HONEST, LINES };
enum { MAX_TRIALS = HARD_TASKS * LINES * MAX_SEEDS, FIRST_SEED = 201 };

static const learner learners[LINES] = {{"MDA", AGG_MDA, 0, 0},
                                        {"SM", AGG_MEAN, 0, 0},
                                        {"PG-SM", AGG_MEAN, 1, 1},
                                        {"MDA without adversaries", AGG_MDA, 0, 0}};

/* ---- the runs: [task][line][seed] */
typedef struct figure {
    attack noise, none;
    trial trials[MAX_TRIALS];
    size_t count, seeds;
    int quick, resumed;
    double seconds;
} figure;

static const trial *runs_of(const figure *f, int t, int line) {
    return &f->trials[(size_t)(t * LINES + line) * f->seeds];
}

static void plan(figure *f) {
    f->noise = attack_of_vector(AGG_ATTACK_NOISE);
    f->none = attack_of_kind(RN_ATTACK_NONE, "no adversaries");
    for (int t = 0; t < HARD_TASKS; t++)
        for (int l = 0; l < LINES; l++)
            for (size_t s = 0; s < f->seeds; s++) {
                trial *r = &f->trials[f->count++];
                *r = trial_make(&hard_tasks[t], &learners[l], l == HONEST ? &f->none : &f->noise,
                                FIRST_SEED + s);
                if (l == HONEST) r->adversaries = 0;
                r->trajectories = f->quick ? hard_rows[t].quick : hard_rows[t].trajectories;
                r->recipe.gamma.rounds = r->trajectories / trial_per_round(r);
            }
}

/* ---- claims */
static void claim_beats(paper_claims *c, const figure *f, int t, int a, int b) {
    const trial *x = runs_of(f, t, a), *y = runs_of(f, t, b);
    const gain g = gain_over(x, y, f->seeds, 0), end = gain_over(x, y, f->seeds, LAST);
    char claim[120];
    snprintf(claim, sizeof claim, "%s: %s beats %s", hard_tasks[t].name, learners[a].name,
             learners[b].name);
    paper_claim(c, verdict(g), claim,
                "%+.0f [%.0f, %.0f] on average over the curve, %+.0f [%.0f, %.0f] at the end",
                g.mean, g.lo, g.hi, end.mean, end.lo, end.hi);
}

/* what: how the paper says it; level: what that takes. --quick is too short to deny it */
static void claim_level(paper_claims *c, const figure *f, int t, const char *what, double level) {
    const series s = series_of(runs_of(f, t, MDA), f->seeds);
    const double end = final_return(&s), peak = largest(s.y, s.n);
    const int yes = (t == DOUBLE_PENDULUM ? peak : end) > level, undecided = f->quick;
    char claim[120];
    snprintf(claim, sizeof claim, "%s: MDA %s", hard_tasks[t].name, what);
    paper_claim(c, yes ? 1 : -undecided, claim, "mean curve: at the end %.0f, largest %.0f", end,
                peak);
}

static void claim_baselines(paper_claims *c, const figure *f) {
    const series sm = series_of(runs_of(f, DOUBLE_PENDULUM, SM), f->seeds);
    const series pg = series_of(runs_of(f, DOUBLE_PENDULUM, PG_SM), f->seeds);
    const double a = largest(sm.y, sm.n), b = largest(pg.y, pg.n);
    paper_claim(c, a < 500 && b < 500, "InvertedDoublePendulum: SM and PG-SM stay below 500",
                "largest of the mean curve: SM %.0f, PG-SM %.0f", a, b);
}

static void print_finals(paper_claims *c, const figure *f) {
    enum { NAME = 28, NUMBERS = 24 };

    paper_note(c, "Return at the end (mean of the last ten evaluations), and its largest on the "
                  "mean curve:\n");
    paper_row_name(c, NAME, "task");
    for (int l = 0; l < LINES; l++) paper_cell(c, NUMBERS, "%s", learners[l].name);
    paper_row_end(c, 1 + LINES);
    for (int t = 0; t < HARD_TASKS; t++) {
        paper_row_name(c, NAME, hard_tasks[t].name);
        for (int l = 0; l < LINES; l++) {
            const series s = series_of(runs_of(f, t, l), f->seeds);
            paper_cell(c, NUMBERS, "%.0f (%.0f)", final_return(&s), largest(s.y, s.n));
        }
        paper_row_end(c, 0);
    }
}

static void print_recipes(paper_claims *c) {
    static const char *const heading[] = {"steps per trajectory",
                                          "hidden units",
                                          "trajectories per estimate",
                                          "discount",
                                          "log-std",
                                          "eta",
                                          "clip",
                                          "gamma"};
    enum { NAME = 28, WIDE = 26, NARROW = 9, COLUMNS = sizeof heading / sizeof *heading };

    paper_note(c, "Recipes, the same for every line of a task; evaluations have 1000 steps:\n");
    paper_row_name(c, NAME, "task");
    for (int i = 0; i < COLUMNS; i++) paper_cell(c, i < 3 ? WIDE : NARROW, "%s", heading[i]);
    paper_row_end(c, 1 + COLUMNS);
    for (int t = 0; t < HARD_TASKS; t++) {
        const hard_row *r = &hard_rows[t];
        const double tail[] = {r->discount, r->log_std, r->eta, r->clip, r->gamma};
        paper_row_name(c, NAME, hard_tasks[t].name);
        paper_cell(c, WIDE, "%d", (int)r->horizon);
        paper_cell(c, WIDE, "%d, %d", (int)r->hidden[0], (int)r->hidden[1]);
        paper_cell(c, WIDE, "%d", (int)r->batch);
        for (int i = 0; i < 5; i++) paper_cell(c, NARROW, "%g", tail[i]);
        paper_row_end(c, 0);
    }
}

static int write_claims(const char *path, const figure *f) {
    paper_claims c;
    if (paper_claims_open(&c, path, "Figure 2") != 0) return -1;
    paper_note(&c,
               "10 agents, 3 of them add random noise; %d seeds; mean return of %d greedy "
               "trajectories. %s.",
               (int)f->seeds, TRIAL_TRAJECTORIES,
               f->quick ? "Quick version: shorter runs, too few seeds to decide much"
                        : "Full version");
    print_recipes(&c);
    print_finals(&c, f);
    paper_note(&c, "What the paper says. Its vanilla PG was not matched; here it has the same "
                   "trajectories, step rule and baseline. Intervals: 95 %%, paired over seeds.");
    for (int t = 0; t <= WALKER; t++) {
        claim_beats(&c, f, t, MDA, SM);
        claim_beats(&c, f, t, SM, PG_SM);
    }
    claim_level(&c, f, HOPPER, "ends above 400", 400);
    claim_level(&c, f, DOUBLE_PENDULUM, "peaks above 9000", 9000);
    claim_baselines(&c, f);
    claim_level(&c, f, WALKER, "ends at about 1000 (above 950)", 950);
    paper_note(&c, "Past the paper: Walker2d with as many steps in training as in the evaluation.");
    claim_beats(&c, f, FAR_WALKER, MDA, SM);
    claim_beats(&c, f, FAR_WALKER, SM, PG_SM);
    claim_level(&c, f, FAR_WALKER, "ends at about 1000 (above 950)", 950);
    paper_claim(&c, f->quick || f->resumed ? -1 : f->seconds <= 3600,
                "the whole figure within one hour", "%.0f s%s (the paper: 120 CPU-hours)",
                f->seconds, f->resumed ? " since it was resumed" : "");
    return paper_claims_close(&c);
}

/* ---- the picture */
/* room for all curves; bands may be cut */
static plot_scale scale_of(const series *s) {
    plot_scale y = {0, 0, 0};
    for (int l = 0; l < LINES; l++)
        for (size_t p = 0; p < s[l].n; p++) {
            y.lo = fmin(y.lo, s[l].y[p]);
            y.hi = fmax(y.hi, s[l].y[p]);
        }
    y.hi *= 1.08;
    y.lo *= 1.08;
    return y;
}

enum { NAMES_ROOM = 92 };

static int draw(const char *path, const figure *f) {
    static const int colour[LINES] = {0, 1, 7, 2};
    static const char *const shown[LINES] = {"MDA", "simple mean", "PG, mean", "MDA, no attack"};
    static series s[LINES];
    plot_curve curve[LINES];
    plot p;
    char note[160];
    const plot_box page = plot_make_box(14, 66, 1272, 460);
    if (paper_figure(&p, path, 1300, 534, "Figure 2: ten agents, three of them add random noise") !=
        0)
        return -1;
    snprintf(note, sizeof note,
             "Return of the learned policy, mean of %d seeds; a curve under the pointer shows its "
             "95 %% confidence",
             (int)f->seeds);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    for (int t = 0; t < HARD_TASKS; t++) {
        for (int l = 0; l < LINES; l++) s[l] = series_of(runs_of(f, t, l), f->seeds);
        for (int l = 0; l < LINES; l++) s[l].name = shown[l];
        for (int l = 0; l < LINES; l++) { /* MDA last, on top */
            const int k = LINES - 1 - l;
            curve[l] = curve_of(&s[k], colour[k], k == HONEST);
        }
        const plot_chart chart = {hard_tasks[t].name,
                                  "trajectories per agent",
                                  t % 3 ? NULL : "return",
                                  {0, s[0].x[s[0].n - 1], 0},
                                  scale_of(s),
                                  curve,
                                  LINES};
        plot_named_curves(
            &p, plot_cell_for_names(page, 2, 3, (size_t)t / 3, (size_t)t % 3, NAMES_ROOM), &chart);
    }
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static figure f;
    char settings[320], part[64], md[64], csv[64], svg[64];
    f.quick = paper_quick(argc, argv,
                          "usage: figure2 [--quick]\n"
                          "The paper's figure 2: writes build/figure2.svg, .csv and .md.\n"
                          "--quick: 2 seeds, shorter runs, build/figure2_quick.*\n");
    f.seeds = f.quick ? 2 : MAX_SEEDS;
    for (int t = 0; t < HARD_TASKS; t++) hard_measure(t);
    plan(&f);
    hard_settings(settings, sizeof settings);
    f.seconds =
        trials_run(f.trials, f.count, paper_path(part, "figure2", f.quick, "part"), settings);
    for (size_t i = 0; i < f.count; i++) f.resumed |= f.trials[i].found;
    if (write_claims(paper_path(md, "figure2", f.quick, "md"), &f) != 0 ||
        write_csv(paper_path(csv, "figure2", f.quick, "csv"), f.trials, f.count) != 0 ||
        draw(paper_path(svg, "figure2", f.quick, "svg"), &f) != 0)
        return fprintf(stderr, "cannot write build/figure2.*\n"), 1;
    printf("\nwrote %s, %s and %s\n", svg, csv, md);
    trials_free(f.trials, f.count);
    return 0;
}
