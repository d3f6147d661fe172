/* 14: see what was learned. Ten agents, three of them adversaries, train a hopper (or another of
   the six tasks); then the policy plays, and its stick figure becomes an animated SVG: open it in a
   browser.
   The idea: what the trainer leaves is theta, and a policy is theta and rn_policy_act().
   Build: cc -O2 -I. examples/14_watch.c -o 14_watch -lm && ./14_watch --task walker2d walker.svg */
#define _POSIX_C_SOURCE 200809L /* isatty */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "stick.h"
#include "explain.h"
#include "options.h"
#include "terminal.h"

enum { AGENTS = 10, ADVERSARIES = 3, MAX_SECONDS = STICK_FRAMES / 25, PAUSE = 15, NAME = 32 };
enum { TASK, TRAIN, SECONDS, STILLS, SEED, SAVE, LOAD, OUTPUT, OPTIONS };

static void die(const char *what, const char *why) {
    exit((fprintf(stderr, "%s: %s\n", what, why), 1));
}

/* ---- learning, as in lesson 04 */
static rn_policy make_policy(const stick_task *task, rn_net *net) {
    stick_state state;
    const rn_env e = task->env(&state);
    rn_net_desc d = rn_make_net_desc(e.obs_dim, e.actions ? e.actions : e.act_dim);
    d.hidden[0] = d.hidden[1] = 32;
    d.gaussian = !e.actions;
    d.log_std = d.log_std_min = -0.5; /* it never stops trying */
    return rn_make_net_policy(net, &d);
}

static rn_trainer *start(const option *o, const stick_task *task, rn_policy policy) {
    static stick_state states[AGENTS];
    rn_trainer *trainer = NULL;
    rn_env envs[AGENTS];
    for (int i = 0; i < AGENTS; i++) envs[i] = task->env(&states[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, ADVERSARIES, envs, policy);
    d.method.discount = 0.99; /* and not flat, clipped or soft: measured on these tasks */
    d.method.flat = d.method.reuse = d.server.soft = 0;
    d.method.batch = 1;
    d.method.clip = 0;
    d.server.eta = rn_schedule_constant(0.3);
    d.server.gamma = rn_schedule_linear(0.03, 0, o[TRAIN].number);
    d.adversaries = ADVERSARIES;
    d.attack.vector.kind = AGG_ATTACK_NOISE;
    d.seed = o[SEED].number;
    const rn_status s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    if (s != RN_OK) die(task->name, rn_status_text(s));
    return trainer;
}

static void train(rn_trainer *t, size_t rounds) {
    for (size_t i = 1; i <= rounds; i++) {
        (void)rn_trainer_run_round(t); /* a refusal only means: no step */
        terminal_say(i, rounds, "return %7.1f", rn_trainer_progress(t)->mean_return);
    }
}

/* ---- a policy in a file: the task's name, then the server's state */
static void save_policy(const rn_server *s, const stick_task *task, const char *path) {
    const size_t size = NAME + rn_server_save_size(s);
    char *bytes = (char *)calloc(1, size);
    FILE *file = fopen(path, "wb");
    if (!bytes || !file ||
        rn_server_save(s, strcpy(bytes, task->name) + NAME, size - NAME) != RN_OK ||
        fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        die(path, "cannot be written");
    free(bytes);
}

static void load_policy(rn_server *s, const stick_task *task, const char *path) {
    const size_t most = NAME + rn_server_save_size(s) + 1; /* one more: a longer file is noticed */
    char *bytes = (char *)calloc(1, most);
    FILE *file = fopen(path, "rb");
    if (!bytes || !file) die(path, "cannot be read");
    const size_t size = fread(bytes, 1, most, file);
    if (size < NAME || strncmp(bytes, task->name, NAME) != 0) die(path, "no policy for this task");
    const rn_status status = rn_server_load(s, bytes + NAME, size - NAME);
    if (status != RN_OK) die(path, rn_status_text(status));
    fclose(file), free(bytes);
}

/* ---- the film, with the most likely actions, or random ones if nothing was learned. Who falls
   starts again. Returns the falls. */
static int play(const option *o, const stick_task *task, const rn_policy *p, const rn_server *from,
                stick_film *film) {
    const size_t size = rn_policy_work_size(p, 0);
    void *work = malloc(size);
    stick_state state;
    const rn_env env = task->env(&state);
    rn_random random = rn_make_random(o[SEED].number, AGENTS + 1); /* a stream that no agent has */
    const agg_rng rng = rn_random_rng(&random),
                  *sample = rn_server_current_round(from) > 1 ? NULL : &rng;
    rn_real obs[STICK_NUMBERS], act[STICK_NUMBERS];
    rn_step_result result = RN_TRUNCATED;
    double reward, sum = 0;
    int pause = 0, falls = 0;
    stick_begin(film, task);
    while (work && (double)(film->frames + 1) * film->seconds < (double)o[SECONDS].number + 1e-9) {
        const int again = result != RN_RUNNING && pause-- == 0;
        if (again) env.reset(&state, &rng, obs), result = RN_RUNNING, pause = PAUSE;
        stick_add(film, &state, again);
        for (int i = stick_every(task); i > 0 && result == RN_RUNNING; i--) {
            (void)rn_policy_act(p, rn_server_theta(from), obs, sample, act, work, size);
            result = env.step(&state, act, &rng, obs, &reward);
            sum += reward, falls += result == RN_TERMINATED;
        }
    }
    free(work);
    snprintf(film->note, STICK_NOTE,
             "%d rounds of ten agents, three of them adversaries; %d s: return %.0f, falls: %d",
             (int)rn_server_current_round(from) - 1, (int)o[SECONDS].number, sum, falls);
    return falls;
}

int main(int argc, char **argv) {
    option o[OPTIONS] = {
        {"--task",
         "Hopper, Walker2d, HalfCheetah, CartPole, InvertedPendulum or InvertedDoublePendulum",
         "Hopper", 0, 0, 0},
        {"--train", "rounds of training (300); 0: it knows nothing", NULL, 300, 0, 1000000},
        {"--seconds", "of film, 1 to 60 (10)", NULL, 10, 1, MAX_SECONDS},
        {"--stills", "so many pictures file_000.svg, .. instead, to 999", NULL, 0, 0, 999},
        {"--seed", "of training and film (1)", NULL, 1, 0, 0xffffffff},
        {"--save", "keep the policy in this file", NULL, 0, 0, 0},
        {"--load", "take the policy from this file instead of training", NULL, 0, 0, 0},
        {"file.svg", "what to write (build/watch.svg)", "build/watch.svg", 0, 0, 0}};
    static stick_film film;
    rn_net net;
    options_read(argc, argv, o, OPTIONS, "usage: 14_watch [options] [file.svg]\n");
    const stick_task *task = stick_find(o[TASK].text);
    if (!task) options_refuse(o[TASK].text, "no such task");
    const rn_policy policy = make_policy(task, &net);
    rn_trainer *trainer = start(o, task, policy);
    rn_server *server = rn_trainer_server(trainer);
    if (o[LOAD].text)
        load_policy(server, task, o[LOAD].text);
    else
        train(trainer, o[TRAIN].number);
    if (o[SAVE].text) save_policy(server, task, o[SAVE].text);
    const int falls = play(o, task, &policy, server, &film);
    if (stick_write(&film, o[STILLS].number, o[OUTPUT].text) != 0)
        die(o[OUTPUT].text, "cannot be written");
    rn_trainer_destroy(trainer);
    printf("%s, %s\nwrote %s\n\nVerdict: %s\n", task->name, film.note, o[OUTPUT].text,
           falls ? "it falls; more rounds (--train) bring a higher return" : "it never fell");
    return 0;
}
