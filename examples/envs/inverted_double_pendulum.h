/* inverted_double_pendulum.h - MuJoCo's InvertedDoublePendulum (Gym v2, v4): push a cart on a rail
   so that two poles, one on top of the other, stay up
   SPDX-License-Identifier: MIT OR Unlicense

       inverted_double_pendulum poles;                         // yours; plain data
       rn_env env = inverted_double_pendulum_env(&poles);      // 11 observations, 1 action, -1 .. 1

   The model of MuJoCo 2.2.2, simulated by planar.h; inverted_double_pendulum_env_v2() has the
   masses of the -v2 tasks. 20 control steps a second, of five Runge-Kutta steps.
   Observation: the cart's place, sin of the two hinges, cos of them, the three speeds and the three
   forces of the rail's ends, both clipped to +-10.
   Action: 500 N times it on the cart, clamped to +-1.
   Reward: 10 - 0.01 x^2 - (z - 2)^2 - 0.001 w1^2 - 0.005 w2^2, with (x, z) the tip and w the speeds
   of the hinges.
   Terminated: z <= 1; and, with reward 0, an action that is not finite. It never truncates: Gym's
   limit of 1000 steps is the horizon of the trainer and of the evaluation.
   As in Gym, tip and forces are those of the last evaluation inside the last Runge-Kutta step, not
   of the state after it. */
#ifndef INVERTED_DOUBLE_PENDULUM_H
#define INVERTED_DOUBLE_PENDULUM_H
#include "planar.h"

/* q: the cart's place, angles of the lower pole and of the upper against it. It senses the tip of
   the upper pole and the forces of the rail's ends. */
typedef planar_body inverted_double_pendulum;

/* clang-format off */
static const planar_model inverted_double_pendulum_model = {
    "inverted_double_pendulum", 3, 3, 0, /* joints, capsules, pairs of them */
    /* Runge-Kutta, physics steps a control step, seconds, gravity, largest control */
    0, 5, 0.01, 1e-5, -9.81, 1,
    {0.02, 0.9, 0.95, 0.001, 0.01}, {0.02, 0.9, 0.95, 0.001, 0}, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    {{"slider", "cart",  -1, PLANAR_SLIDE_X, 0, 0,   0, -1, 1, 0, 0.05, 0, 500},
     {"hinge",  "pole",  0,  PLANAR_HINGE,   0, 0,   0, 0,  0, 0, 0.05, 0, 0},
     {"hinge2", "pole2", 1,  PLANAR_HINGE,   0, 0.6, 0, 0,  0, 0, 0.05, 0, 0}},
    /* mass, centre, inertia, weight of the body, of the joint */
    {{{10.47197551196598,  0, 0,   0.12671090369478843, 0.028224206395898916, 0.08467261918769675},
      {4.1987385815227585, 0, 0.3, 0.15497066975016235, 0.03504152896303488,  1.3837110638769503},
      {4.1987385815227585, 0, 0.3, 0.15497066975016235, 0.06686298404500333,  8.45892623863961}},
     {{9.424777960769381, 0, 0,   0.09424777960769383, 0.03115216376874355, 0.09345649130623065},
      {4.103312704669968, 0, 0.3, 0.14433402438676612, 0.03677412059169277, 1.4773337543564817},
      {4.103312704669968, 0, 0.3, 0.14433402438676612, 0.06875478383852897, 9.003547434019405}}},
    /* name, joint, from, to, radius, friction */
    {{"cart",   0, -0.1, 0,   0.1, 0, 0.1,   0},
     {"cpole",  1, 0,    0.6, 0,   0, 0.045, 0},
     {"cpole2", 2, 0,    0.6, 0,   0, 0.045, 0}},
    {{0, 0}}};
/* clang-format on */

ENV_BEGIN

ENV_FN void inverted_double_pendulum_physics(int v2, double *q, double *v, const double *ctrl,
                                             planar_work *k) {
    planar_physics(&inverted_double_pendulum_model, inverted_double_pendulum_model.mass[v2 != 0], q,
                   v, ctrl, k);
}

ENV_FN void inverted_double_pendulum_sense(int v2, double *q, double *v, const double *ctrl,
                                           planar_work *k) {
    planar_accelerate(&inverted_double_pendulum_model, inverted_double_pendulum_model.mass[v2 != 0],
                      q, v, ctrl, k);
}

ENV_FN void inverted_double_pendulum_observe(const planar_body *p, rn_real *obs) {
    double s, c;
    int i;
    obs[0] = (rn_real)p->q[0];
    for (i = 1; i < 3; i++) {
        env_sincos(p->q[i], &s, &c);
        obs[i] = (rn_real)s;
        obs[i + 2] = (rn_real)c;
    }
    for (i = 0; i < 3; i++) {
        obs[i + 5] = (rn_real)planar_clamp(p->v[i], 10);
        obs[i + 8] = (rn_real)planar_clamp(p->force[i], 10);
    }
}

/* the tip can reach z = 1.2: it pays to be as high as that */
ENV_FN rn_step_result inverted_double_pendulum_judge(const planar_body *p, double x,
                                                     const double *act, double *reward) {
    const double low = p->tip_z - 2;
    (void)x;
    (void)act;
    *reward = 10 - (0.01 * p->tip_x * p->tip_x + low * low) -
              (1e-3 * p->v[1] * p->v[1] + 5e-3 * p->v[2] * p->v[2]);
    return p->tip_z > 1 ? RN_RUNNING : RN_TERMINATED;
}

/* clang-format off */
static const planar_task inverted_double_pendulum_task = {
    &inverted_double_pendulum_model,   inverted_double_pendulum_physics,
    inverted_double_pendulum_sense,    inverted_double_pendulum_observe,
    inverted_double_pendulum_judge,
    11, 0.1, 0.1, 1,  /* observations; noise at the start: positions uniform, speeds normal */
    0, 0, PLANAR_LOST /* actions as given; 0 for a refused step; largest number to load */
};
/* clang-format on */

ENV_FN rn_env inverted_double_pendulum_env(inverted_double_pendulum *self) {
    return planar_env(self, &inverted_double_pendulum_task, 0);
}

ENV_FN rn_env inverted_double_pendulum_env_v2(inverted_double_pendulum *self) {
    return planar_env(self, &inverted_double_pendulum_task, 1);
}

ENV_END
#endif
