/* attacks.h - an attack by its name, for command lines: those on the vectors, by aggregators.h,
   then the trainer's own kinds.

       desc.attack = attack_by_name("sign flipping");   // an unknown one lists all, and exits */
#ifndef ATTACKS_H
#define ATTACKS_H
#include "resnharpg.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTACKS_OTHER = 5, ATTACKS_COUNT = AGG_ATTACK_COUNT + ATTACKS_OTHER };

static const char *attack_by_index(int i, rn_attack *attack) {
    static const struct {
        const char *name;
        rn_attack_kind kind;
    } other[ATTACKS_OTHER] = {{"random action", RN_ATTACK_RANDOM_ACTION},
                              {"reward flipping", RN_ATTACK_REWARD_FLIP},
                              {"reward poisoning", RN_ATTACK_REWARD_POISON},
                              {"silence", RN_ATTACK_SILENCE},
                              {"none", RN_ATTACK_NONE}};
    const int k = i - AGG_ATTACK_COUNT;
    memset(attack, 0, sizeof *attack);
    attack->kind = k < 0 ? RN_ATTACK_VECTOR : other[k].kind;
    if (k < 0) attack->vector.kind = (agg_attack_kind)i;
    return k < 0 ? agg_attack_name((agg_attack_kind)i) : other[k].name;
}

static rn_attack attack_by_name(const char *name) {
    rn_attack attack;
    for (int i = 0; i < ATTACKS_COUNT; i++)
        if (strcmp(attack_by_index(i, &attack), name) == 0) return attack;
    fprintf(stderr, "no attack is called \"%s\". There are:\n", name);
    for (int i = 0; i < ATTACKS_COUNT; i++) fprintf(stderr, "  %s\n", attack_by_index(i, &attack));
    exit(2);
    return attack;
}
#endif /* ATTACKS_H */
