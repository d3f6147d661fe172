/* onesetting: the six tasks of the paper with one setting among three sign-flipping agents of ten.
   Nothing is chosen by task but the net's size and the number of trajectories, which is the
   paper's: agents tune their own estimates (method.tuned), the server finds its step (server.kl)
   under a cap that never binds, observations are in units measured once under random actions
   (scaled.h). And what a step length does on CartPole: the return at the end against gamma_0, with
   the linear schedule and with the budget. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "curves.h"
#include "../envs/cartpole.h"
#include "../envs/half_cheetah.h"
#include "../envs/hopper.h"
#include "../envs/inverted_double_pendulum.h"
#include "../envs/inverted_pendulum.h"
#include "../envs/scaled.h"
#include "../envs/walker2d.h"

enum { CARTPOLE, PENDULUM, DOUBLE_PENDULUM, HOPPER, HALF_CHEETAH, WALKER, TASKS };
enum { SWEEPS = 3, STEPS = 5, LEARNING = 3 };
enum { FIRST_SEED = 301, MOST = (TASKS + SWEEPS * STEPS + LEARNING) * MAX_SEEDS };

static const learner mda = {"MDA", AGG_MDA, 0, 0};

typedef struct goal {
    size_t trajectories, quick; /* per agent; with --quick */
    double least;               /* mean return at the end */
} goal;

static const goal goals[TASKS] = {{1000, 400, 475}, {1800, 600, 950}, {6000, 600, 9000},
                                  {1800, 200, 400}, {1800, 200, 800}, {1800, 200, 400}};

/* CartPole: gamma_0 of the linear schedule, gamma_0 as the cap of the budget, the budget itself */
static const char *const sweep_name[SWEEPS] = {"linear schedule", "budget, gamma as its cap",
                                               "budget (x = kl 50)"};
static const double sweep_x[STEPS] = {0.001, 0.01, 0.1, 1, 10};

/* ---- the tasks. Those from TASKS on learn their units by themselves, each agent alone. */
typedef union any_body {
    cartpole pole;
    planar_body planar;
} any_body;

typedef struct place {
    any_body body;
    scaled scaled;
} place;

static scaled unit[TASKS];
static const int learning[LEARNING] = {CARTPOLE, PENDULUM, HOPPER};

static rn_env raw_env(int index, any_body *b) {
    switch (index) {
    case CARTPOLE: return cartpole_env(&b->pole);
    case PENDULUM: return inverted_pendulum_env(&b->planar);
    case DOUBLE_PENDULUM: return inverted_double_pendulum_env(&b->planar);
    case HOPPER: return hopper_env(&b->planar);
    case HALF_CHEETAH: return half_cheetah_env(&b->planar);
    default: return walker2d_env(&b->planar);
    }
}

static const task tasks[TASKS + LEARNING];

static int index_of(const task *k) {
    const int i = (int)(k - tasks);
    return i < TASKS ? i : learning[i - TASKS];
}

static rn_env place_env(const task *k, void *state) {
    place *p = (place *)state;
    const rn_env e = scaled_env(&p->scaled, raw_env(index_of(k), &p->body));
    p->scaled.learns = k - tasks >= TASKS;
    if (!p->scaled.learns) scaled_copy(&p->scaled, &unit[index_of(k)]);
    return e;
}

static recipe setting(const task *k, const learner *l) {
    any_body body;
    const rn_env e = raw_env(index_of(k), &body);
    (void)l;
    return recipe_tuned(&e);
}

/* clang-format off */
static const task tasks[TASKS + LEARNING] = {
    {"CartPole",               sizeof(place), place_env, setting, 500,  500},
    {"InvertedPendulum",       sizeof(place), place_env, setting, 1000, 1000},
    {"InvertedDoublePendulum", sizeof(place), place_env, setting, 1000, 9500},
    {"Hopper",                 sizeof(place), place_env, setting, 1000, 2000},
    {"HalfCheetah",            sizeof(place), place_env, setting, 1000, 6000},
    {"Walker2d",               sizeof(place), place_env, setting, 1000, 1500},
    {"CartPole (own units)",        sizeof(place), place_env, setting, 500,  500},
    {"InvertedPendulum (own units)", sizeof(place), place_env, setting, 1000, 1000},
    {"Hopper (own units)",          sizeof(place), place_env, setting, 1000, 1500}};
/* clang-format on */

/* ---- the runs: [task][seed], [sweep][step][seed], [learning][seed] */
typedef struct figure {
    attack flip;
    trial trials[MOST];
    char label[SWEEPS * STEPS][32];
    size_t count, seeds, sweep_seeds;
    int quick;
    double seconds;
} figure;

static const trial *task_runs(const figure *f, int t) { return &f->trials[(size_t)t * f->seeds]; }

static const trial *sweep_runs(const figure *f, int sweep, int step) {
    return &f->trials[TASKS * f->seeds + (size_t)(sweep * STEPS + step) * f->sweep_seeds];
}

static const trial *learning_runs(const figure *f, int i) {
    return &f->trials[TASKS * f->seeds + (size_t)(SWEEPS * STEPS + i) * f->sweep_seeds];
}

static trial *add(figure *f, const task *k, size_t seed, size_t trajectories) {
    trial *t = &f->trials[f->count++];
    *t = trial_make(k, &mda, &f->flip, FIRST_SEED + seed);
    t->trajectories = trajectories;
    t->recipe.gamma.rounds = trajectories / trial_per_round(t);
    return t;
}

static size_t length_of(const figure *f, int index) {
    return f->quick ? goals[index].quick : goals[index].trajectories;
}

static void plan(figure *f) {
    f->flip = attack_of_vector(AGG_ATTACK_SIGN_FLIP);
    for (int t = 0; t < TASKS; t++)
        for (size_t s = 0; s < f->seeds; s++) add(f, &tasks[t], s, length_of(f, t));
    for (int w = 0; w < SWEEPS; w++)
        for (int i = 0; i < STEPS; i++)
            for (size_t s = 0; s < f->sweep_seeds; s++) {
                trial *t = add(f, &tasks[CARTPOLE], s, 400);
                char *label = f->label[w * STEPS + i];
                snprintf(label, sizeof f->label[0], "sweep %d %g", w, sweep_x[i]);
                t->label = label;
                if (w < 2) t->recipe.gamma.value = sweep_x[i];
                if (w == 0) t->recipe.kl = 0;
                if (w == 2) t->recipe.kl = sweep_x[i] / 50;
            }
    for (int i = 0; i < LEARNING; i++)
        for (size_t s = 0; s < f->sweep_seeds; s++)
            add(f, &tasks[TASKS + i], s, length_of(f, learning[i]));
}

/* ---- what they say */
static double end_of(const trial *t) { return average(t->score + t->points - LAST, LAST); }

static double mean_end(const trial *runs, size_t seeds) {
    double sum = 0;
    for (size_t s = 0; s < seeds; s++) sum += end_of(&runs[s]) / (double)seeds;
    return sum;
}

static void claim_tasks(paper_claims *c, const figure *f) {
    for (int t = 0; t < TASKS; t++) {
        const trial *runs = task_runs(f, t);
        const double mean = mean_end(runs, f->seeds);
        char claim[80], text[160] = "";
        for (size_t s = 0; s < f->seeds; s++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.0f", s ? ", " : "",
                     end_of(&runs[s]));
        snprintf(claim, sizeof claim, "%s: at least %g", tasks[t].name, goals[t].least);
        paper_claim(c, mean >= goals[t].least ? 1 : -f->quick, claim, "%.0f; run by run: %s", mean,
                    text);
    }
}

static void print_sweep(paper_claims *c, const figure *f) {
    paper_note(c, "CartPole after 400 trajectories, %d seeds: return at the end against gamma_0.\n",
               (int)f->sweep_seeds);
    paper_row_name(c, 28, "gamma_0");
    for (int i = 0; i < STEPS; i++) paper_cell(c, 8, "%g", sweep_x[i]);
    paper_row_end(c, 1 + STEPS);
    for (int w = 0; w < SWEEPS; w++) {
        paper_row_name(c, 28, sweep_name[w]);
        for (int i = 0; i < STEPS; i++)
            paper_cell(c, 8, "%.0f", mean_end(sweep_runs(f, w, i), f->sweep_seeds));
        paper_row_end(c, 0);
    }
}

static void print_units(paper_claims *c, const figure *f) {
    paper_note(c,
               "Units of the observations: measured once and the same for all, or learnt by each "
               "agent, and by the evaluation, from what it sees itself (the same seeds).\n");
    paper_row_name(c, 28, "task");
    paper_cell(c, 10, "the same");
    paper_cell(c, 10, "own");
    paper_row_end(c, 3);
    for (int i = 0; i < LEARNING; i++) {
        paper_row_name(c, 28, tasks[learning[i]].name);
        paper_cell(c, 10, "%.0f", mean_end(task_runs(f, learning[i]), f->sweep_seeds));
        paper_cell(c, 10, "%.0f", mean_end(learning_runs(f, i), f->sweep_seeds));
        paper_row_end(c, 0);
    }
}

static int write_claims(const char *path, const figure *f) {
    paper_claims c;
    if (paper_claims_open(&c, path, "One setting for six tasks") != 0) return -1;
    paper_note(&c,
               "rn_make_tuned_trainer_desc(), nets of 32-32; 10 agents, 3 of them flip signs; %d "
               "seeds; return: mean of the last ten evaluations. %.0f s.",
               (int)f->seeds, f->seconds);
    claim_tasks(&c, f);
    print_sweep(&c, f);
    print_units(&c, f);
    return paper_claims_close(&c);
}

/* ---- the picture: six tasks, then the sweep */
static void draw_tasks(plot *p, const figure *f, plot_box page) {
    for (int t = 0; t < TASKS; t++) {
        const series s = series_of(task_runs(f, t), f->seeds);
        const double line_x[2] = {0, s.x[s.n - 1]}, line_y[2] = {goals[t].least, goals[t].least};
        const plot_curve curve[2] = {{"goal", 2, line_x, line_y, NULL, NULL, 7, 1},
                                     curve_of(&s, 0, 0)};
        const plot_chart chart = {tasks[t].name,
                                  "trajectories per agent",
                                  t % 3 ? NULL : "return",
                                  {0, line_x[1], 0},
                                  {0, 1.05 * tasks[t].best, 0},
                                  curve,
                                  2};
        const plot_box box = plot_cell(page, 3, 3, (size_t)t / 3, (size_t)t % 3);
        plot_curves(p, box, &chart);
        plot_tick_y(p, box, &chart, tasks[t].best);
    }
}

static void draw_sweep(plot *p, const figure *f, plot_box page) {
    double y[SWEEPS][STEPS];
    plot_curve curve[SWEEPS];
    for (int w = 0; w < SWEEPS; w++) {
        for (int i = 0; i < STEPS; i++) y[w][i] = mean_end(sweep_runs(f, w, i), f->sweep_seeds);
        const plot_curve one = {sweep_name[w], STEPS, sweep_x, y[w], NULL, NULL, w ? w + 1 : 1, 0};
        curve[w] = one;
    }
    const plot_chart chart = {"CartPole: return at the end against gamma_0",
                              "gamma_0",
                              "return",
                              {sweep_x[0], sweep_x[STEPS - 1], 1},
                              {0, 525, 0},
                              curve,
                              SWEEPS};
    plot_named_curves(p, plot_cell_for_names(page, 3, 1, 2, 0, 160), &chart);
    plot_tick_y(p, plot_cell_for_names(page, 3, 1, 2, 0, 160), &chart, 500);
}

static int draw(const char *path, const figure *f) {
    plot p;
    const plot_box page = plot_make_box(14, 70, 1072, 660);
    char note[160];
    if (paper_figure(&p, path, 1100, 738,
                     "One setting for six tasks, three of ten agents flip signs"))
        return -1;
    snprintf(note, sizeof note,
             "Return of the learned policy, seeds: %d, mean and its 95 %% confidence; dashed: the "
             "goal. (g) seeds: %d",
             (int)f->seeds, (int)f->sweep_seeds);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    draw_tasks(&p, f, page);
    draw_sweep(&p, f, page);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static figure f;
    static any_body body;
    char part[64], md[64], csv[64], svg[64];
    const unsigned given = paper_options(
        argc, argv, "--quick --once ",
        "usage: onesetting [--quick] [--once]\n"
        "Six tasks with one setting: writes build/onesetting.svg, .csv and .md.\n"
        "--quick: 2 seeds, few trajectories; --once: one seed of everything; both write "
        "build/onesetting_quick.*\n");
    f.quick = (given & 1) != 0;
    f.seeds = given & 2 ? 1 : f.quick ? 2 : 3;
    f.sweep_seeds = given ? 1 : 3;
    for (int t = 0; t < TASKS; t++) {
        (void)scaled_env(&unit[t], raw_env(t, &body));
        scaled_measure(&unit[t], 100, 250, 0.6);
    }
    plan(&f);
    const int small = given != 0;
    f.seconds = trials_run(f.trials, f.count, paper_path(part, "onesetting", small, "part"),
                           f.quick ? "onesetting 1 quick" : "onesetting 1");
    if (write_claims(paper_path(md, "onesetting", small, "md"), &f) != 0 ||
        write_csv(paper_path(csv, "onesetting", small, "csv"), f.trials, f.count) != 0 ||
        draw(paper_path(svg, "onesetting", small, "svg"), &f) != 0)
        exit((fprintf(stderr, "cannot write build/onesetting.*\n"), 1));
    printf("%s, %s, %s\n", svg, csv, md);
    trials_free(f.trials, f.count);
    return 0;
}
