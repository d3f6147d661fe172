/* explain.h - a call that refuses its desc, in words:

       rn_status s = explain_trainer(rn_trainer_create(&trainer, &desc), &desc);

   The status goes through; unless it is RN_OK, the field, its value and its bound go to stderr.
   Include aggregators.h or resnharpg.h first. */
#ifndef EXPLAIN_H
#define EXPLAIN_H
#include <stdio.h>

#if defined(__GNUC__) && !defined(__TINYC__)
#define EXPLAIN_FN static __attribute__((unused))
#else
#define EXPLAIN_FN static
#endif

EXPLAIN_FN agg_status explain_agg(agg_status s, const agg_desc *d) {
    char why[1024];
    const agg_status found = agg_explain(d, why, sizeof why);
    if (s > AGG_INEXACT) fprintf(stderr, "%s\n", found == AGG_OK ? agg_status_text(s) : why);
    return s;
}

#ifdef RESNHARPG_H
/* found: what is wrong with the desc; if that is nothing, memory is */
EXPLAIN_FN rn_status explain_status(rn_status s, rn_status found, const char *why) {
    if (s != RN_OK) fprintf(stderr, "%s\n", found == RN_OK ? rn_status_text(s) : why);
    return s;
}

EXPLAIN_FN rn_status explain_trainer(rn_status s, const rn_trainer_desc *d) {
    char why[1024];
    const rn_status found = rn_trainer_explain(d, why, sizeof why);
    return explain_status(s, found, why);
}

EXPLAIN_FN rn_status explain_agent(rn_status s, const rn_agent_desc *d) {
    char why[1024];
    const rn_status found = rn_agent_explain(d, why, sizeof why);
    return explain_status(s, found, why);
}

EXPLAIN_FN rn_status explain_server(rn_status s, const rn_server_desc *d) {
    char why[1024];
    const rn_status found = rn_server_explain(d, why, sizeof why);
    return explain_status(s, found, why);
}

EXPLAIN_FN rn_status explain_hub(rn_status s, const rn_hub_desc *d) {
    char why[1024];
    const rn_status found = rn_hub_explain(d, why, sizeof why);
    return explain_status(s, found, why);
}

EXPLAIN_FN rn_status explain_peer(rn_status s, const rn_peer_desc *d) {
    char why[1024];
    const rn_status found = rn_peer_explain(d, why, sizeof why);
    return explain_status(s, found, why);
}
#endif /* RESNHARPG_H */
#endif /* EXPLAIN_H */
