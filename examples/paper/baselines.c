/* baselines: Res-NHARPG with MDA against FedPG-BR (Fan et al. 2021) and Byz-PG (Jordan et al.
   2024), CartPole and HalfCheetah, ten agents, three of them adversaries, at as many trajectories
   per agent. Each with the settings its authors published; ours are the recipe of figure 1 and, on
   HalfCheetah, the setting that tunes itself. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "curves.h"
#include "byz_pg.h"
#include "fedpg_br.h"
#include "hard_tasks.h"
#include "tasks.h"

enum { CART_POLE, CHEETAH, GAMES };
enum { NOISE, RANDOM_ACTION, FLIP, ATTACKS };
enum { OURS, FEDPG_BR, BYZ_PG, LINES };
enum { MOST_SEEDS = 5, FIRST_SEED = 401, MAX_TRIALS = GAMES * ATTACKS * LINES * MOST_SEEDS };

static const learner lines[LINES] = {
    {"Res-NHARPG", AGG_MDA, 0, 0}, {"FedPG-BR", AGG_MEAN, 0, 0}, {"Byz-PG", AGG_GM, 0, 0}};

/* What to train how long; trajectories per agent, as far as each line needs to be seen: ours on
   HalfCheetah to where FedPG-BR published its returns. There 10000 trajectories of the others would
   take five minutes a run. */
typedef struct game {
    const task *task;
    double solved;       /* the return that counts as reached */
    size_t seeds, every; /* every: between evaluations */
    size_t trajectories[LINES];
    size_t quick, quick_every; /* the same with --quick, one seed */
} game;

/* clang-format off */
static const game games[GAMES] = {
    {&tasks[0][0],               475,  5, 20,  {2000, 2000, 5000},  300, 20},
    {&hard_tasks[HALF_CHEETAH],  2000, 3, 100, {10000, 2000, 500},  100, 10}};

/* ---- what was published. FedPG-BR on HalfCheetah, 10 agents, 3 adversaries, at 10000
   trajectories, by attack (read off its figure) */
static const double published[ATTACKS] = {2650, 2350, 2400};
static const char *const published_text =
    "Published: FedPG-BR, CartPole, ten agents, no adversaries: 500 from 800 trajectories on; "
    "HalfCheetah with three of ten adversaries, at 10000 trajectories: 2650 (noise), 2350 (random "
    "action), 2400 (sign flipping). Byz-PG, CartPole, three of 13: 460 to 490 by 8000 trajectories "
    "under three attacks of its own. FedPG-BR scales its noise by layer, here it is scaled by the "
    "whole row; its random actors always take action 0, here they draw.";

/* ---- their settings. Nets: softmax or Gaussian with tanh on logits or means, log-std from the
   observation, at most -2. Adam's rate, FedPG-BR's sigma, delta, alpha. */
static const fedpg_br_options fedpg_br_rows[GAMES] = {
    {{4, 2, {16, 16}, 0, 0, 0, 1, RN_RELU, 0, 0, 0, 0, 1},
     500, 12, 20, 4,  0.999, 1e-3, 0.06, 0.6, 0.4},
    {{17, 6, {64, 64}, 1, 1, 0, 1, RN_TANH, 0, -20, -2, 0, 1},
     500, 46, 50, 16, 0.995, 8e-5, 0.9,  0.6, 0.4}};

/* HalfCheetah was not published: batches of its LunarLander, net, discount and rate of FedPG-BR */
static const byz_pg_options byz_pg_rows[GAMES] = {
    {{4, 2, {16, 16}, 0, 0, 0, 1, RN_TANH, 0, 0, 0, 0, 1},
     500, 50, 4,  0.2, 0.999, 5e-4},
    {{17, 6, {64, 64}, 1, 1, 0, 1, RN_TANH, 0, -20, -2, 0, 1},
     500, 96, 32, 0.2, 0.995, 8e-5}};
/* clang-format on */

static int game_of(const trial *t) { return t->task == games[CHEETAH].task; }

static void run_fedpg_br(trial *t) { rival_run(t, &fedpg_br_rival, &fedpg_br_rows[game_of(t)]); }

static void run_byz_pg(trial *t) { rival_run(t, &byz_pg_rival, &byz_pg_rows[game_of(t)]); }

/* ---- the runs: [game][attack][line][seed] */
typedef struct figure {
    attack attacks[ATTACKS];
    trial trials[MAX_TRIALS];
    size_t count, seeds[GAMES];
    int quick, resumed;
    double seconds;
} figure;

static const trial *runs_of(const figure *f, int g, int a, int l) {
    const size_t before = g ? ATTACKS * LINES * f->seeds[0] : 0;
    return &f->trials[before + (size_t)(a * LINES + l) * f->seeds[g]];
}

static trial plan_trial(const figure *f, int g, int a, int l, size_t seed) {
    static void (*const run[LINES])(trial * t) = {NULL, run_fedpg_br, run_byz_pg};
    const game *k = &games[g];
    trial t = trial_make(k->task, &lines[l], &f->attacks[a], seed);
    t.run = run[l];
    t.trajectories = f->quick ? k->quick : k->trajectories[l];
    t.every = f->quick ? k->quick_every : k->every;
    if (g == CHEETAH) {
        planar_body body;
        const rn_env e = half_cheetah_env(&body);
        t.recipe = recipe_tuned(&e);
        t.recipe.gamma.rounds = t.trajectories / trial_per_round(&t);
    }
    return t;
}

static void plan(figure *f) {
    f->attacks[NOISE] = attack_of_vector(AGG_ATTACK_NOISE);
    f->attacks[RANDOM_ACTION] = attack_of_kind(RN_ATTACK_RANDOM_ACTION, "random action");
    f->attacks[FLIP] = attack_of_vector(AGG_ATTACK_SIGN_FLIP);
    for (int g = 0; g < GAMES; g++)
        for (int a = 0; a < ATTACKS; a++)
            for (int l = 0; l < LINES; l++)
                for (size_t s = 0; s < f->seeds[g]; s++)
                    f->trials[f->count++] = plan_trial(f, g, a, l, FIRST_SEED + s);
}

/* what a stored result depends on */
static void settings_of(char *text, size_t size) {
    recipe_text(text, size);
    snprintf(text + strlen(text), size - strlen(text), "; ");
    hard_settings(text + strlen(text), size - strlen(text));
    snprintf(text + strlen(text), size - strlen(text), "; HalfCheetah tuned");
}

/* ---- claims */
static double end_of(const trial *t) {
    const size_t n = t->points < LAST ? t->points : LAST;
    return average(t->score + t->points - n, n);
}

/* trajectories per agent until the run has `level` for the first time; HUGE_VAL: never */
static double reached(const trial *t, double level) {
    for (size_t p = 0; p < t->points; p++)
        if (t->score[p] >= level) return t->x[p];
    return HUGE_VAL;
}

/* the slowest seed */
static double slowest(const figure *f, int g, int a, int l) {
    const trial *t = runs_of(f, g, a, l);
    double most = 0;
    for (size_t s = 0; s < f->seeds[g]; s++) most = fmax(most, reached(&t[s], games[g].solved));
    return most;
}

/* what every seed did: first at the level, return at the end */
static void print_seeds(paper_claims *c, const figure *f, int g) {
    paper_note(c, "%s, every seed: trajectories until %g is reached, return at the end:\n",
               games[g].task->name, games[g].solved);
    paper_row_name(c, 36, "attack, algorithm");
    for (size_t s = 0; s < f->seeds[g]; s++) paper_cell(c, 14, "seed %d", (int)(FIRST_SEED + s));
    paper_cell(c, 14, "trajectories");
    paper_row_end(c, 2 + (int)f->seeds[g]);
    for (int k = 0; k < ATTACKS * LINES; k++) {
        const trial *t = runs_of(f, g, k / LINES, k % LINES);
        char name[64];
        snprintf(name, sizeof name, "%s, %s", t->attack->name, t->learner->name);
        paper_row_name(c, 36, name);
        for (size_t s = 0; s < f->seeds[g]; s++) {
            const double x = reached(&t[s], games[g].solved);
            if (x < HUGE_VAL)
                paper_cell(c, 14, "%.0f, %.0f", x, end_of(&t[s]));
            else
                paper_cell(c, 14, "never, %.0f", end_of(&t[s]));
        }
        paper_cell(c, 14, "%.0f", t->x[t->points - 1]);
        paper_row_end(c, 0);
    }
}

/* its slowest seed is sooner there than the other's fastest */
static void claim_sooner(paper_claims *c, const figure *f, int a, int l) {
    const double ours = slowest(f, CART_POLE, a, OURS);
    const trial *t = runs_of(f, CART_POLE, a, l);
    double theirs = HUGE_VAL;
    char claim[160];
    for (size_t s = 0; s < f->seeds[CART_POLE]; s++)
        theirs = fmin(theirs, reached(&t[s], games[CART_POLE].solved));
    snprintf(claim, sizeof claim,
             "CartPole, %s: our slowest seed is sooner at 475 than %s's "
             "fastest",
             f->attacks[a].name, lines[l].name);
    paper_claim(c, ours < theirs ? 1 : -f->quick, claim, "%g against %g trajectories", ours,
                theirs);
}

static void claim_kept(paper_claims *c, const figure *f, int a) {
    const trial *t = runs_of(f, CART_POLE, a, OURS);
    size_t good = 0;
    char claim[120];
    for (size_t s = 0; s < f->seeds[CART_POLE]; s++) good += end_of(&t[s]) >= 475;
    snprintf(claim, sizeof claim, "CartPole, %s: no seed of ours ends below 475",
             f->attacks[a].name);
    paper_claim(c, good == f->seeds[CART_POLE] ? 1 : -f->quick, claim, "%d of %d", (int)good,
                (int)f->seeds[CART_POLE]);
}

/* where the other's run ends; not the end of ours */
static double at_trajectories(const trial *t, double x) {
    size_t p = 0;
    while (p + 1 < t->points && t->x[p + 1] <= x) p++;
    return t->score[p];
}

static void claim_cheetah(paper_claims *c, const figure *f, int a) {
    const trial *ours = runs_of(f, CHEETAH, a, OURS);
    char claim[160];
    double sum = 0;
    for (size_t s = 0; s < f->seeds[CHEETAH]; s++) sum += end_of(&ours[s]);
    sum /= (double)f->seeds[CHEETAH];
    snprintf(claim, sizeof claim,
             "HalfCheetah, %s: above the %.0f that FedPG-BR published at 10000 trajectories",
             f->attacks[a].name, published[a]);
    const double x = ours->x[ours->points - 1];
    paper_claim(c, f->quick ? -1 : sum > published[a], claim, "%.0f at %.0f trajectories", sum, x);
    for (int l = FEDPG_BR; l < LINES; l++) {
        const trial *t = runs_of(f, CHEETAH, a, l);
        const double end = t->x[t->points - 1];
        snprintf(claim, sizeof claim, "HalfCheetah, %s: ahead of %s at %.0f trajectories",
                 f->attacks[a].name, lines[l].name, end);
        paper_claim(c, f->quick ? -1 : at_trajectories(ours, end) > t->score[t->points - 1], claim,
                    "%.0f against %.0f, the first seed", at_trajectories(ours, end),
                    t->score[t->points - 1]);
    }
}

static int write_claims(const char *path, const figure *f) {
    paper_claims c;
    if (paper_claims_open(&c, path, "Baselines") != 0) return -1;
    paper_note(&c,
               "10 agents, 3 of them adversaries; mean return of %d greedy trajectories; "
               "observations of HalfCheetah in the same units for all. %s; %.0f s%s.",
               TRIAL_TRAJECTORIES,
               f->quick ? "Quick version: too short to decide anything" : "Full version",
               f->seconds, f->resumed ? " since it was resumed" : "");
    paper_note(&c, "%s", published_text);
    for (int g = 0; g < GAMES; g++) print_seeds(&c, f, g);
    paper_note(&c, "Goals:");
    for (int a = 0; a < ATTACKS; a++) {
        for (int l = FEDPG_BR; l < LINES; l++) claim_sooner(&c, f, a, l);
        claim_kept(&c, f, a);
    }
    for (int a = 0; a < ATTACKS; a++) claim_cheetah(&c, f, a);
    return paper_claims_close(&c);
}

/* ---- the picture */
static plot_scale scale_of(const series *s) {
    plot_scale y = {0, 0, 0};
    for (int l = 0; l < LINES; l++)
        for (size_t p = 0; p < s[l].n; p++) {
            y.lo = fmin(y.lo, s[l].y[p]);
            y.hi = fmax(y.hi, s[l].y[p]);
        }
    y.hi *= 1.08;
    return y;
}

static void draw_panel(plot *p, const figure *f, int g, int a, plot_curve *curve) {
    static series s[LINES];
    char title[80];
    const plot_box page = plot_make_box(14, 66, 1272, 460);
    const plot_box box = plot_cell_for_names(page, GAMES, ATTACKS, (size_t)g, (size_t)a, 84);
    for (int l = 0; l < LINES; l++) {
        s[l] = series_of(runs_of(f, g, a, l), f->seeds[g]);
        curve[l] = curve_of(&s[l], l, 0);
        if (f->seeds[g] < 3) curve[l].lo = curve[l].hi = NULL; /* too few for a band */
    }
    snprintf(title, sizeof title, "%s, %s", games[g].task->name, f->attacks[a].name);
    double most = 0;
    for (int l = 0; l < LINES; l++) most = fmax(most, s[l].x[s[l].n - 1]);
    const plot_chart chart = {
        title, "trajectories per agent", a ? NULL : "return", {0, most, 0}, scale_of(s), curve,
        LINES};
    plot_named_curves(p, box, &chart);
    if (g == CART_POLE) plot_tick_y(p, box, &chart, 500);
}

static int draw(const char *path, const figure *f) {
    plot_curve curve[LINES];
    plot p;
    char note[200];
    if (paper_figure(&p, path, 1300, 534,
                     "Res-NHARPG, FedPG-BR, Byz-PG: three of ten are adversaries"))
        return -1;
    snprintf(note, sizeof note,
             "Return of the learned policy: CartPole, mean of %d seeds and its 95 %% confidence; "
             "HalfCheetah, seeds: %d",
             (int)f->seeds[CART_POLE], (int)f->seeds[CHEETAH]);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    for (int g = 0; g < GAMES; g++)
        for (int a = 0; a < ATTACKS; a++) draw_panel(&p, f, g, a, curve);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static figure f;
    static const char *const ending[4] = {"part", "md", "csv", "svg"};
    char settings[640], path[4][64];
    f.quick =
        paper_quick(argc, argv,
                    "usage: baselines [--quick]\n"
                    "Res-NHARPG, FedPG-BR and Byz-PG: writes build/baselines.svg, .csv, .md.\n"
                    "--quick: 1 seed, shorter runs, build/baselines_quick.*\n");
    for (int g = 0; g < GAMES; g++) f.seeds[g] = f.quick ? 1 : games[g].seeds;
    for (int i = 0; i < 4; i++)
        snprintf(path[i], sizeof path[i], "build/baselines%s.%s", f.quick ? "_quick" : "",
                 ending[i]);
    hard_measure(HALF_CHEETAH);
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
