/* 15: what was learned, as one C file. Ten agents, three of them adversaries, learn CartPole; then
   policy_c.h, beside this file, writes the policy as plain C: weights and a function, which need no
   header, no library and no memory. That is what goes into a game, a robot or a phone.
   The idea: a policy that is done learning is a constant and a short function.
   Build: cc -O2 -I. examples/15_plain_c.c -o 15_plain_c -lm && ./15_plain_c pole.c */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "explain.h"
#include "options.h"
#include "policy_c.h"

enum { AGENTS = 10, ADVERSARIES = 3, GOOD = 475 };

enum { ROUNDS, NAME, OUTPUT, OPTIONS };

/* until ten trials in a row of the most likely actions are good, or rounds are over */
static rn_status train(rn_trainer *t, const rn_env *trial, size_t rounds, double *score) {
    rn_status s = RN_OK;
    for (size_t i = 1; s == RN_OK && i <= rounds && *score < GOOD; i++) {
        s = rn_trainer_run_round(t);
        if (s == RN_OK && i % 10 == 0) s = rn_trainer_evaluate(t, trial, 10, score);
    }
    return s;
}

static int write_policy(const char *path, const rn_net *net, const rn_real *theta,
                        const char *name) {
    FILE *out = fopen(path, "w");
    const int ok = out && policy_c_write_net(out, net, theta, name);
    return out && fclose(out) == 0 && ok;
}

int main(int argc, char **argv) {
    option o[OPTIONS] = {
        {"--rounds", "of training at most (100)", NULL, 100, 0, 100000},
        {"--name", "of the policy: its function is NAME_act (pole)", "pole", 0, 0, 0},
        {"file.c", "what to write (build/pole.c)", "build/pole.c", 0, 0, 0}};
    static cartpole poles[AGENTS + 1];
    rn_env envs[AGENTS + 1];
    rn_net net;
    rn_trainer *trainer = NULL;
    double score = 0;
    options_read(argc, argv, o, OPTIONS,
                 "usage: 15_plain_c [options] [file.c]\n"
                 "Trains CartPole and writes the policy as a C file that needs nothing else.\n");
    if (!policy_c_is_name(o[NAME].text)) /* asked before there is a file, or one less */
        options_refuse(o[NAME].text, "no name that a C function can have");
    for (int i = 0; i <= AGENTS; i++) envs[i] = cartpole_env(&poles[i]);
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = 8;
    rn_policy policy = rn_make_net_policy(&net, &shape);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, ADVERSARIES, envs, policy);
    d.adversaries = ADVERSARIES;
    rn_status s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    if (s == RN_OK) s = train(trainer, &envs[AGENTS], o[ROUNDS].number, &score);
    if (s != RN_OK) return fprintf(stderr, "%s\n", rn_status_text(s)), 1;
    if (!write_policy(o[OUTPUT].text, &net, rn_trainer_theta(trainer), o[NAME].text))
        return fprintf(stderr, "%s: cannot be written\n", o[OUTPUT].text), 1;
    printf("%d rounds, score %.0f of 500, %d numbers; wrote %s:\n\n"
           "    int %s_act(const float *obs, const uint64_t *bits, float *act);\n\n"
           "cc -std=c99 -O2 -c %s compiles it; rn_policy_act() has the same bits.\n\n"
           "Verdict: %s\n",
           (int)rn_trainer_rounds_done(trainer), score, (int)policy.dim, o[OUTPUT].text,
           o[NAME].text, o[OUTPUT].text,
           score >= 475 ? "what was learned fits one C file" : "not learned yet: try more rounds");
    rn_trainer_destroy(trainer);
    return 0;
}
