/* figure3: the four tasks of figure 2, ten agents, three of them add random noise to what they
   send. Fed-ADMM (a reconstruction, see fed_admm.h) beside Res-NHARPG with MDA at as many
   trajectories; and, past the paper, Fed-ADMM with MDA in the place of its mean. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "curves.h"
#include "fed_admm.h"
#include "hard_tasks.h"

enum { TASKS = 4 }; /* the first of hard_tasks.h */
enum { OURS, ADMM, ADMM_MDA, LINES };
enum { SEEDS = 1, FIRST_SEED = 301, MAX_TRIALS = TASKS * LINES * SEEDS };

static const learner learners[LINES] = {{"Res-NHARPG with MDA", AGG_MDA, 0, 0},
                                        {"Fed-ADMM (reconstruction)", AGG_MEAN, 0, 0},
                                        {"Fed-ADMM with MDA (reconstruction)", AGG_MDA, 0, 0}};

/* Fed-ADMM's options, what TRPO is usually given on these tasks. The policy's net and first
   deviation, the observations and the length of an episode are those of Res-NHARPG. rho is not
   known. */
typedef struct admm_row {
    size_t steps, cg, passes;
    double delta, critic_rate;
    double most, least;     /* the paper: return of Fed-ADMM at most, of Res-NHARPG at least */
    const char *fed, *ours; /* in its words */
    size_t trajectories;    /* per agent with --quick */
} admm_row;

/* clang-format off */
static const admm_row rows[TASKS] = {
    {2048,     25, 20, 0.04, 1e-3,   0,   0,    "performs poorly", "best",           200},
    {2048,     25, 20, 0.01, 1e-3,   350, 400,  "350",             "above 400",      400},
    {8 * 2048, 15, 10, 0.01, 2.5e-4, 90,  4000, "90",              "above 4000",     800},
    {2048,     25, 20, 0.01, 1e-3,   300, 950,  "less than 300",   "around 1000",    200}};
/* clang-format on */

static const double admm_damping = 0.1, admm_rho = 0.1;

static fed_admm_options admm_options(const trial *t) {
    const admm_row *row = &rows[t->task - hard_tasks];
    fed_admm_options o;
    memset(&o, 0, sizeof o);
    o.net = t->recipe.net;
    o.horizon = t->recipe.method.horizon;
    o.steps = row->steps;
    o.delta = row->delta;
    o.damping = admm_damping;
    o.rho = admm_rho;
    o.cg = row->cg;
    o.critic[0] = o.critic[1] = 32;
    o.passes = row->passes;
    o.critic_rate = row->critic_rate;
    o.rule = t->learner->rule;
    return o;
}

static void run_admm(trial *t) {
    const fed_admm_options o = admm_options(t);
    rival_run(t, &fed_admm_rival, &o);
}

/* ---- the runs: [task][line][seed] */
typedef struct figure {
    attack noise;
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
    for (int t = 0; t < TASKS; t++)
        for (int l = 0; l < LINES; l++)
            for (size_t s = 0; s < f->seeds; s++) {
                trial *r = &f->trials[f->count++];
                *r = trial_make(&hard_tasks[t], &learners[l], &f->noise, FIRST_SEED + s);
                r->trajectories = f->quick ? rows[t].trajectories : hard_rows[t].trajectories;
                r->recipe.gamma.rounds = r->trajectories / trial_per_round(r);
                if (l != OURS) r->run = run_admm;
            }
}

/* what a stored result depends on */
static void settings_of(char *text, size_t size) {
    size_t n;
    hard_settings(text, size);
    for (int t = 0; t < TASKS && (n = strlen(text)) < size; t++)
        snprintf(text + n, size - n, "; %d %d %d %g %g", (int)rows[t].steps, (int)rows[t].cg,
                 (int)rows[t].passes, rows[t].delta, rows[t].critic_rate);
}

/* ---- claims */
static double end_of(const trial *t) { return average(t->score + t->points - LAST, LAST); }

/* in every seed, at the end: holds; in none: does not; else open */
static void claim_ahead(paper_claims *c, const figure *f, int t, int a, int b) {
    const trial *x = runs_of(f, t, a), *y = runs_of(f, t, b);
    char claim[160], numbers[160] = "";
    size_t won = 0, n = 0;
    for (size_t s = 0; s < f->seeds; s++) {
        won += end_of(&x[s]) > end_of(&y[s]);
        n += (size_t)snprintf(numbers + n, sizeof numbers - n, "%s%.0f against %.0f", s ? ", " : "",
                              end_of(&x[s]), end_of(&y[s]));
    }
    snprintf(claim, sizeof claim, "%s: %s beats %s in every seed", hard_tasks[t].name,
             learners[a].name, learners[b].name);
    paper_claim(c, won == f->seeds ? 1 : won == 0 ? 0 : -1, claim, "%s", numbers);
}

static void claim_levels(paper_claims *c, const figure *f, int t) {
    const series fed = series_of(runs_of(f, t, ADMM), f->seeds);
    const series ours = series_of(runs_of(f, t, OURS), f->seeds);
    const double a = final_return(&fed), b = final_return(&ours);
    char claim[160];
    snprintf(claim, sizeof claim, "%s: Fed-ADMM %s, Res-NHARPG %s", hard_tasks[t].name, rows[t].fed,
             rows[t].ours);
    paper_claim(c, a <= rows[t].most * 1.1 && b > rows[t].least ? 1 : -f->quick, claim,
                "%.0f and %.0f", a, b);
}

static void print_finals(paper_claims *c, const figure *f) {
    enum { NAME = 24, NUMBERS = 36 };

    paper_note(c, "Return at the end (mean of the last ten evaluations), and its largest on the "
                  "mean curve:\n");
    paper_row_name(c, NAME, "task");
    for (int l = 0; l < LINES; l++) paper_cell(c, NUMBERS, "%s", learners[l].name);
    paper_row_end(c, 1 + LINES);
    for (int t = 0; t < TASKS; t++) {
        paper_row_name(c, NAME, hard_tasks[t].name);
        for (int l = 0; l < LINES; l++) {
            const series s = series_of(runs_of(f, t, l), f->seeds);
            paper_cell(c, NUMBERS, "%.0f (%.0f)", final_return(&s), largest(s.y, s.n));
        }
        paper_row_end(c, 0);
    }
}

static int write_claims(const char *path, const figure *f) {
    paper_claims c;
    if (paper_claims_open(&c, path, "Figure 3") != 0) return -1;
    paper_note(&c,
               "10 agents, 3 of them add random noise; seeds: %d; mean return of %d greedy "
               "trajectories. %s; %.0f s%s.",
               (int)f->seeds, TRIAL_TRAJECTORIES,
               f->quick ? "Quick version: too short to decide much" : "Full version", f->seconds,
               f->resumed ? " since it was resumed" : "");
    paper_note(&c,
               "Fed-ADMM is a reconstruction: neither its code nor its text could be had. Steps "
               "per update, conjugate gradients and KL by task as TRPO is usually given; damping "
               "%g, rho %g.",
               admm_damping, admm_rho);
    print_finals(&c, f);
    paper_note(&c, "What the paper says (Fed-ADMM: at most that, and a tenth):");
    for (int t = HOPPER; t < TASKS; t++) claim_levels(&c, f, t);
    for (int t = 0; t < TASKS; t++) claim_ahead(&c, f, t, OURS, ADMM);
    paper_note(&c, "Past the paper: a resilient rule in Fed-ADMM.");
    for (int t = 0; t < TASKS; t++) claim_ahead(&c, f, t, ADMM_MDA, ADMM);
    for (int t = 0; t < TASKS; t++) claim_ahead(&c, f, t, OURS, ADMM_MDA);
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

static int draw(const char *path, const figure *f) {
    static const int colour[LINES] = {0, 1, 2};
    static const char *const shown[LINES] = {"Res-NHARPG with MDA", "Fed-ADMM",
                                             "Fed-ADMM with MDA"};
    static series s[LINES];
    plot_curve curve[LINES];
    plot p;
    char note[200];
    const plot_box page = plot_make_box(14, 66, 1072, 460);
    if (paper_figure(&p, path, 1100, 534, "Figure 3: ten agents, three of them add random noise") !=
        0)
        return -1;
    snprintf(note, sizeof note,
             "Return of the learned policy, seeds: %d. Fed-ADMM is a reconstruction",
             (int)f->seeds);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    for (int t = 0; t < TASKS; t++) {
        for (int l = 0; l < LINES; l++) {
            s[l] = series_of(runs_of(f, t, l), f->seeds);
            s[l].name = shown[l];
            curve[l] = curve_of(&s[l], colour[l], l == ADMM_MDA);
            if (f->seeds < 3) curve[l].lo = curve[l].hi = NULL; /* too few for a band */
        }
        const plot_chart chart = {hard_tasks[t].name,
                                  "trajectories per agent",
                                  t % 2 ? NULL : "return",
                                  {0, s[0].x[s[0].n - 1], 0},
                                  scale_of(s),
                                  curve,
                                  LINES};
        plot_named_curves(&p, plot_cell_for_names(page, 2, 2, (size_t)t / 2, (size_t)t % 2, 132),
                          &chart);
    }
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static figure f;
    char settings[640], path[4][64];
    static const char *const ending[4] = {"part", "md", "csv", "svg"};
    f.quick = paper_quick(argc, argv,
                          "usage: figure3 [--quick]\n"
                          "The paper's figure 3: writes build/figure3.svg, .csv and .md.\n"
                          "--quick: 1 seed, shorter runs, build/figure3_quick.*\n");
    f.seeds = f.quick ? 1 : SEEDS;
    for (int i = 0; i < 4; i++)
        snprintf(path[i], sizeof path[i], "build/figure3%s.%s", f.quick ? "_quick" : "", ending[i]);
    for (int t = 0; t < TASKS; t++) hard_measure(t);
    plan(&f);
    settings_of(settings, sizeof settings);
    f.seconds = trials_run(f.trials, f.count, path[0], settings);
    for (size_t i = 0; i < f.count; i++) f.resumed |= f.trials[i].found;
    if (write_claims(path[1], &f) != 0 || write_csv(path[2], f.trials, f.count) != 0 ||
        draw(path[3], &f) != 0)
        return fprintf(stderr, "cannot write %s\n", path[1]), 1;
    printf("\nwrote %s, %s and %s\n", path[3], path[2], path[1]);
    trials_free(f.trials, f.count);
    return 0;
}
