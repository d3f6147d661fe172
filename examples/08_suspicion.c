/* 08: who lies? For 10 rounds all ten agents are honest; then three of them begin to lie, a little
   at first, and never more than honest noise would hide (the attack "a little is enough"). The rule
   survives them without knowing who they are. You may want to know.
   The idea: one round proves nothing, as honest rows are noisy; what agents do round after round
   adds up. server.watch keeps a number for each, the evidence against it, with a limit that an
   honest agent passes in one run of a hundred at most, however long you watch.
   Build: cc -O2 -I. examples/08_suspicion.c -o 08_suspicion -lm && ./08_suspicion */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "explain.h"
#include <stdio.h>

enum { AGENTS = 10, F = 3, ROUNDS = 90, HONEST_FOR = 10 };

/* what the watcher remembers */
typedef struct notes {
    double limit;
    size_t accused[AGENTS]; /* in this round; 0: not so far */
} notes;

/* a line of numbers, and who is over the limit */
static void watch(void *self, const rn_progress *p) {
    notes *n = (notes *)self;
    for (int i = 0; i < AGENTS; i++)
        if (!n->accused[i] && p->evidence[i] >= n->limit) n->accused[i] = p->round;
    if (p->round % 15 && p->round != 1) return;
    printf("%5d  suspicion", (int)p->round);
    for (int i = 0; i < AGENTS; i++) printf(" %6.2f", p->suspicion[i]);
    printf("\n       evidence ");
    for (int i = 0; i < AGENTS; i++)
        printf(" %5.1f%s", p->evidence[i], p->evidence[i] >= n->limit ? "!" : " ");
    printf("\n");
}

int main(void) {
    static cartpole poles[AGENTS];
    static notes n;
    rn_env envs[AGENTS];
    rn_net net;
    rn_trainer *trainer = NULL;
    int found = 0, wronged = 0;
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = shape.hidden[1] = 16;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&poles[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, rn_make_net_policy(&net, &shape));
    d.server.watch = RN_WATCH_NEWS;
    d.adversaries = F; /* the last three hide in the noise of the others, ... */
    d.attack.vector.kind = AGG_ATTACK_ALIE;
    d.attack.wait = HONEST_FOR; /* ... but not from the start, ... */
    d.attack.ramp = 10;         /* ... and only by and by with all their strength */
    d.progress = watch;
    d.progress_self = &n;
    n.limit = rn_evidence_limit(0.01, AGENTS);
    rn_status s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    printf(
        "Agents 7, 8 and 9 begin to lie in round %d. Suspicion is of one round (distance to "
        "the result, 1 is usual);\nevidence adds up: over %.1f, marked !, an agent is accused.\n\n",
        HONEST_FOR + 1, n.limit);
    for (int t = 0; s == RN_OK && t < ROUNDS; t++) s = rn_trainer_run_round(trainer);
    if (s != RN_OK) return fprintf(stderr, "%s\n", rn_status_text(s)), 1;
    printf("\n");
    for (int i = 0; i < AGENTS; i++) {
        if (!n.accused[i]) continue;
        printf("agent %d is accused in round %d\n", i, (int)n.accused[i]);
        found += i >= AGENTS - F;
        wronged += i < AGENTS - F;
    }
    printf("\nVerdict: %d of %d liars found, %d honest agents accused; meanwhile the policy gets "
           "%.0f of 500\n",
           found, F, wronged, rn_trainer_progress(trainer)->mean_return);
    rn_trainer_destroy(trainer);
    return !(found == F && wronged == 0);
}
