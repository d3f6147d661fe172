/* planar.h - bodies of capsules that move in a plane, joined by hinges and slides, as MuJoCo 2.2.2
   computes them
   SPDX-License-Identifier: MIT OR Unlicense

   x points forward, z up. A planar_model is a table of facts, a planar_task the rules of an
   environment; hopper.h shows both. A state is q and v: one position and one speed for each joint,
   in the order of the table. All in double, no allocation, no globals.

   THE MECHANICS  M(q) a = tau + J^T f: accelerations a under the forces tau (motors, springs,
   damping, gravity, and what turning bodies need) and the forces f of whatever touches: joints at a
   stop, capsules on the ground or on one another. Every touch is a row J of MuJoCo's soft
   constraints: an acceleration J a of at least `aim` is wanted, and a force f = max(0, aim - J a) /
   R pushes towards it. So a minimises a convex function:

       1/2 (a - a0)^T M (a - a0) + sum over rows 1/(2R) min(0, J a - aim)^2,         a0 = M^-1 tau

   THE METHOD  If we knew which rows push, a would solve (M + sum J^T J / R) a = tau + sum J^T aim /
   R: pushing rows are inertia. A body that touches the ground is heavier by a 3 x 3 matrix, a joint
   at its stop turns harder. Such a tree is solved from its leaves to its root and back in time
   proportional to the joints (Featherstone's articulated bodies), without ever writing M down. Then
   the rows are looked at again: the same push? Then this is the minimum, to rounding. Otherwise the
   next guess is the rows that would push now, with an exact line search between the two: this is
   Newton's method, and it ends. Its first guess is what pushed a moment ago, so that one round is
   the rule.

   The same bits from every compiler and instruction set: own sin and cos, sums in a fixed order, no
   fused multiply-add. Where it is not MuJoCo: capsules that touch while exactly parallel make one
   contact, not two; those whose segments cross at a small angle do not push, where MuJoCo pushes
   along a rounding error. */
#ifndef PLANAR_H
#define PLANAR_H
#include "env.h"
#include <stdio.h> /* FILE, fprintf */

enum { PLANAR_JOINTS = 9, PLANAR_CAPSULES = 8, PLANAR_PAIRS = 3 };
enum { PLANAR_ENDS = 2 * PLANAR_CAPSULES };

/* positions (m, rad) and speeds beyond this are the end of a simulation, not physics */
#define PLANAR_LOST 1e5

#define PLANAR_DEG(a) ((a)*3.14159265358979323846 / 180)

/* ---- the table of facts */
typedef enum planar_kind {
    PLANAR_SLIDE_X, /* along an axis of the frame before it */
    PLANAR_SLIDE_Z,
    PLANAR_HINGE,     /* about +y (from z towards x) */
    PLANAR_HINGE_BACK /* about -y */
} planar_kind;

/* A joint and, if it carries one, the body that moves with it. The body's frame has its origin at
   the joint, and all frames are parallel at q = start. Parents come before their children. */
typedef struct planar_joint {
    const char *name, *body; /* body NULL: the next joint of the table moves the same body too */
    int parent;              /* the joint before it on the way from the world, -1: none */
    planar_kind kind;
    double x, z;      /* where it is in the parent's frame, at q = start */
    double start;     /* its q there */
    double low, high; /* range; 0, 0: free */
    double stiffness; /* of a spring to q = 0 */
    double damping;
    double armature; /* inertia of the motor's rotor */
    double gear;     /* force of the motor at control 1; 0: no motor */
} planar_joint;

/* a joint of a leg: it turns back, hangs z below its parent's, and has a motor; low .. high in
   degrees */
#define PLANAR_LEG(name, body, parent, z, low, high, damping, armature, gear)                      \
    {                                                                                              \
        name, body, parent, PLANAR_HINGE_BACK, 0, z, 0, PLANAR_DEG(low), PLANAR_DEG(high), 0,      \
            damping, armature, gear                                                                \
    }

/* of one joint's body, 0 if there is none; and how easily body and joint move at the start, as
   MuJoCo's invweight0 */
typedef struct planar_mass {
    double mass, x, z, inertia; /* centre of mass in the body's frame, inertia about it */
    double body_weight, joint_weight;
} planar_mass;

/* all points nearer than radius to the segment from a to b */
typedef struct planar_capsule {
    const char *name;
    int joint;                     /* whose body it belongs to */
    double ax, az, bx, bz, radius; /* in the body's frame */
    double friction;               /* on the ground; 0: does not touch it */
} planar_capsule;

/* how a touch gives way: solref, solimp and margin of MuJoCo */
typedef struct planar_soft {
    double time;             /* constant */
    double low, high, width; /* impedance rises from low to high within width */
    double margin;
} planar_soft;

typedef struct planar_model {
    const char *name;
    int joints, capsules, pairs;
    int euler;      /* 0: Runge-Kutta of order 4; 1: Euler with implicit damping */
    int frame_skip; /* physics steps in a control step */
    double timestep, gravity_x, gravity_z, ctrl; /* controls are clamped to -ctrl .. ctrl */
    planar_soft stop, contact;
    planar_joint joint[PLANAR_JOINTS];
    planar_mass mass[2][PLANAR_JOINTS]; /* 0: of true capsules; 1: of MuJoCo up to 2.1.0 (-v2) */
    planar_capsule capsule[PLANAR_CAPSULES];
    int pair[PLANAR_PAIRS][2]; /* capsules that touch one another, without friction */
} planar_model;

/* Everything that is ENV_INLINE is compiled for each model apart: the table is a
   constant, so the compiler unrolls its loops and decides its conditions. */
#if defined(__clang__)
#define PLANAR_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && !defined(__TINYC__)
#define PLANAR_UNROLL _Pragma("GCC unroll 16")
#else
#define PLANAR_UNROLL
#endif
ENV_BEGIN

/* ---- work of one evaluation of the accelerations. A twist: turning with w about a frame's origin,
   which moves with (x, z), moves the frame's point (rx, rz) with (x + w rz, z - w rx). The same
   three numbers as a force: the moment w about the origin, and (x, z). */
typedef struct planar_twist {
    double w, x, z;
} planar_twist;

/* symmetric: force = inertia twist */
typedef struct planar_inertia {
    double ww, wx, wz, xx, xz, zz;
} planar_inertia;

typedef struct planar_frame {
    double angle, c, s;  /* from the world's axes, its cos and sin */
    double x, z, dx, dz; /* origin in the world, and from the parent's */
    planar_twist v;      /* how it moves */
    double ax, az;       /* acceleration of the origin if no joint accelerated */
} planar_frame;

/* a point of a body on the ground; three rows: n + mu t, n - mu t, and n twice */
typedef struct planar_contact {
    int joint, end;
    double rx, rz, mu, push; /* point in the frame (world axes); push = 1/R */
    double aim_n, aim_t;
} planar_contact;

/* side 0: the joint is inside its range */
typedef struct planar_stop {
    double side, push, aim;
} planar_stop;

/* two bodies, force along (nx, nz) on the second */
typedef struct planar_touch {
    int joint1, joint2, pair;
    double nx, nz, rx1, rz1, rx2, rz2, push, aim;
} planar_touch;

/* which rows push: bits of the three rows of an end; 0 or 1 of a stop or a pair */
typedef struct planar_pushing {
    unsigned char end[PLANAR_ENDS], stop[PLANAR_JOINTS], pair[PLANAR_PAIRS];
} planar_pushing;

typedef struct planar_motion {
    double a[PLANAR_JOINTS];
    planar_twist t[PLANAR_JOINTS];
} planar_motion;

typedef struct planar_work {
    planar_frame frame[PLANAR_JOINTS];
    planar_inertia inertia[PLANAR_JOINTS];
    planar_twist force[PLANAR_JOINTS]; /* on the bodies */
    double torque[PLANAR_JOINTS];      /* on the joints */
    planar_contact contact[PLANAR_ENDS];
    planar_stop stop[PLANAR_JOINTS];
    planar_touch touch[PLANAR_PAIRS];
    int contacts, stops, touches, rounds;
    planar_pushing pushing;
    planar_motion motion; /* the answer: accelerations of joints and bodies */
} planar_work;

ENV_INLINE int planar_is_hinge(planar_kind kind) {
    return kind == PLANAR_HINGE || kind == PLANAR_HINGE_BACK;
}

ENV_INLINE double planar_sign(planar_kind kind) { return kind == PLANAR_HINGE_BACK ? -1 : 1; }

/* a frame that never turns: the world's (-1), or of one or two slides on it. Bodies that fly begin
   with two. */
ENV_INLINE int planar_steady(const planar_model *m, int i) {
    const int up = i < 0 ? -1 : m->joint[i].parent;
    if (i < 0) return 1;
    if (planar_is_hinge(m->joint[i].kind)) return 0;
    return up < 0 || (!planar_is_hinge(m->joint[up].kind) && m->joint[up].parent < 0);
}

/* ---- where everything is and how it moves; g is the frame before it. Turning with w accelerates
   what moves along: by -w^2 d at the offset d, by 2 w v across a slide's speed v. */
ENV_INLINE planar_frame planar_after(const planar_frame *g, const planar_joint *j, int steady,
                                     double q, double v) {
    const double c = steady ? 1 : g->c, s = steady ? 0 : g->s, w = steady ? 0 : g->v.w;
    const double ux = j->kind == PLANAR_SLIDE_X ? c : s; /* way of a slide */
    const double uz = j->kind == PLANAR_SLIDE_X ? -s : c;
    planar_frame f = *g;
    f.dx = steady ? j->x : c * j->x + s * j->z;
    f.dz = steady ? j->z : c * j->z - s * j->x;
    if (!planar_is_hinge(j->kind)) {
        f.dx += (q - j->start) * ux;
        f.dz += (q - j->start) * uz;
        f.v.x += v * ux;
        f.v.z += v * uz;
    }
    f.x = g->x + f.dx;
    f.z = g->z + f.dz;
    if (!steady) {
        f.v.x += w * f.dz;
        f.v.z -= w * f.dx;
        f.ax -= w * w * f.dx;
        f.az -= w * w * f.dz;
    }
    if (!steady && !planar_is_hinge(j->kind)) {
        f.ax += 2 * w * v * uz;
        f.az -= 2 * w * v * ux;
    }
    if (planar_is_hinge(j->kind)) {
        f.v.w = w + planar_sign(j->kind) * v;
        f.angle = (steady ? 0 : g->angle) + planar_sign(j->kind) * (q - j->start);
        env_sincos(f.angle, &f.s, &f.c);
    }
    return f;
}

ENV_INLINE void planar_place(const planar_model *m, const double *q, const double *v,
                             planar_frame *frame) {
    const planar_frame world = {0, 1, 0, 0, 0, 0, 0, {0, 0, 0}, 0, 0};
    int i;
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        const int parent = m->joint[i].parent;
        const planar_frame *g = parent < 0 ? &world : &frame[parent];
        frame[i] = planar_after(g, &m->joint[i], planar_steady(m, parent), q[i], v[i]);
    }
}

/* inertia of each body about its frame's origin, and the force that gravity and its turning make */
ENV_INLINE void planar_weigh(const planar_model *m, const planar_mass *mass, planar_work *k) {
    int i;
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        const planar_inertia no_inertia = {0, 0, 0, 0, 0, 0};
        const planar_twist no_force = {0, 0, 0};
        const planar_frame *f = &k->frame[i];
        const planar_mass *b = &mass[i];
        k->inertia[i] = no_inertia;
        k->force[i] = no_force;
        if (m->joint[i].body) {
            const double rx = f->c * b->x + f->s * b->z, rz = f->c * b->z - f->s * b->x;
            const double w2 = f->v.w * f->v.w;
            k->inertia[i].ww = b->inertia + b->mass * (b->x * b->x + b->z * b->z);
            k->inertia[i].wx = b->mass * rz;
            k->inertia[i].wz = -b->mass * rx;
            k->inertia[i].xx = k->inertia[i].zz = b->mass;
            k->force[i].x = b->mass * (m->gravity_x - f->ax + w2 * rx);
            k->force[i].z = b->mass * (m->gravity_z - f->az + w2 * rz);
            k->force[i].w = k->force[i].x * rz - k->force[i].z * rx;
        }
    }
}

/* NaN: 0 */
ENV_INLINE double planar_clamp(double x, double limit) {
    return x > limit ? limit : x < -limit ? -limit : x == x ? x : 0;
}

/* motors, springs and damping; ctrl holds one number for each motor */
ENV_INLINE void planar_drive(const planar_model *m, const double *q, const double *v,
                             const double *ctrl, double *torque) {
    int i, motor = 0;
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        const planar_joint *j = &m->joint[i];
        torque[i] = 0;
        if (j->gear != 0) torque[i] = j->gear * planar_clamp(ctrl[motor++], m->ctrl);
        if (j->stiffness != 0) torque[i] -= j->stiffness * q[i];
        if (j->damping != 0) torque[i] -= j->damping * v[i];
    }
}

/* ---- rows. With the impedance d in (0, 1) at a depth, B and K below:
        aim = -B speed - K d (distance - margin),    1/R = d / ((1 - d) weight) */
ENV_INLINE double planar_impedance(const planar_soft *s, double depth) {
    const double low = s->low < 1e-4 ? 1e-4 : s->low, x = depth / s->width;
    if (s->low == s->high || x >= 1) return s->high;
    return low + (s->high - low) * (x <= 0.5 ? 2 * x * x : 1 - 2 * (1 - x) * (1 - x));
}

/* B */
ENV_INLINE double planar_damping(const planar_model *m, const planar_soft *s) {
    return 2 / (s->high * (s->time > 2 * m->timestep ? s->time : 2 * m->timestep));
}

/* K = B^2 / 4 */
ENV_INLINE double planar_stiffness(const planar_model *m, const planar_soft *s) {
    return 0.25 * planar_damping(m, s) * planar_damping(m, s);
}

ENV_INLINE int planar_limited(const planar_model *m, int i) {
    return m->joint[i].low < m->joint[i].high;
}

ENV_INLINE void planar_find_stops(const planar_model *m, const planar_mass *mass, const double *q,
                                  const double *v, planar_work *k) {
    const planar_soft *soft = &m->stop;
    int i;
    k->stops = 0;
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        if (planar_limited(m, i)) {
            const double below = q[i] - m->joint[i].low - soft->margin;
            const double above = m->joint[i].high - q[i] - soft->margin;
            planar_stop *stop = &k->stop[i];
            stop->side = stop->push = stop->aim = 0;
            if (below < 0 || above < 0) {
                const double side = below < 0 ? 1 : -1, depth = below < 0 ? -below : -above;
                const double d = planar_impedance(soft, depth);
                stop->side = side;
                stop->aim =
                    planar_stiffness(m, soft) * d * depth - planar_damping(m, soft) * (side * v[i]);
                stop->push = d / ((1 - d) * mass[i].joint_weight);
                k->stops++;
            }
        }
    }
}

/* an end of a capsule on the ground: `which` is even for a, odd for b */
ENV_INLINE void planar_ground(const planar_model *m, const planar_mass *mass, int which,
                              planar_work *k) {
    const planar_soft *soft = &m->contact;
    const planar_capsule *cap = &m->capsule[which / 2];
    const planar_frame *f = &k->frame[cap->joint];
    const double px = which & 1 ? cap->bx : cap->ax, pz = which & 1 ? cap->bz : cap->az;
    const double height = f->z + (f->c * pz - f->s * px) - cap->radius;
    if (height < soft->margin) {
        planar_contact *t = &k->contact[k->contacts++];
        const double depth = soft->margin - height, d = planar_impedance(soft, depth);
        const double mu2 = cap->friction * cap->friction, b = planar_damping(m, soft);
        t->joint = cap->joint;
        t->end = which;
        t->mu = cap->friction;
        t->rx = f->c * px + f->s * pz;
        t->rz = 0.5 * height - f->z; /* half way between the two surfaces */
        t->aim_n = planar_stiffness(m, soft) * d * depth - b * (f->v.z - f->v.w * t->rx);
        t->aim_t = -b * (f->v.x + f->v.w * t->rz);
        t->push = d / ((1 - d) * (2 * mu2 * (1 + mu2) * mass[cap->joint].body_weight));
    }
}

ENV_INLINE double planar_unit(double x) { return x < -1 ? -1 : x > 1 ? 1 : x; }

/* square root of x > 0: Newton from a guess with half the exponent */
ENV_INLINE double planar_root(double x) {
    uint64_t bits;
    double r;
    int i;
    memcpy(&bits, &x, 8);
    bits = (bits >> 1) + UINT64_C(0x1ff8000000000000);
    memcpy(&r, &bits, 8);
    for (i = 0; i < 5; i++) r = 0.5 * (r + x / r);
    return r;
}

/* a capsule's segment in world axes: its points are c + s u with |s| <= 1, c from the frame's
   origin */
typedef struct planar_bar {
    double cx, cz, ux, uz;
} planar_bar;

ENV_INLINE planar_bar planar_bar_of(const planar_capsule *cap, const planar_frame *f) {
    const double mx = 0.5 * (cap->ax + cap->bx), mz = 0.5 * (cap->az + cap->bz);
    const double hx = 0.5 * (cap->ax - cap->bx), hz = 0.5 * (cap->az - cap->bz);
    planar_bar bar;
    bar.cx = f->c * mx + f->s * mz;
    bar.cz = f->c * mz - f->s * mx;
    bar.ux = f->c * hx + f->s * hz;
    bar.uz = f->c * hz - f->s * hx;
    return bar;
}

/* Nearest points of two segments whose middles are g apart: s1 on the first, p the way from it to
   the other. 0: farther apart than reach, or they cross. */
ENV_INLINE int planar_nearest(const planar_bar *one, const planar_bar *two, double gx, double gz,
                              double reach, double *s1, double *px, double *pz) {
    const double aa = one->ux * one->ux + one->uz * one->uz;
    const double bb = two->ux * two->ux + two->uz * two->uz;
    const double ab = one->ux * two->ux + one->uz * two->uz;
    const double ga = gx * one->ux + gz * one->uz, gb = gx * two->ux + gz * two->uz;
    const double det = aa * bb - ab * ab, size = aa + bb + 2 * (aa > bb ? aa : bb);
    const int parallel = det < 1e-15 * aa * bb;
    double line, s2;
    /* too far apart: the right side is at least (|u1| + |u2| + reach)^2 */
    if (gx * gx + gz * gz > 2 * (size + reach * reach)) return 0;
    line = parallel ? 0 : (ga * bb - gb * ab) / det; /* where the lines meet */
    *s1 = planar_unit(line);
    s2 = (*s1 * ab - gb) / bb;
    if (s2 > 1 || s2 < -1) {
        s2 = planar_unit(s2);
        *s1 = planar_unit((ga + s2 * ab) / aa);
    } else if (!parallel && line > -1 && line < 1) {
        return 0; /* segments that cross push nowhere */
    }
    *px = gx + s2 * two->ux - *s1 * one->ux;
    *pz = gz + s2 * two->uz - *s1 * one->uz;
    return 1;
}

/* two capsules of a pair */
ENV_INLINE void planar_meet(const planar_model *m, const planar_mass *mass, int which,
                            planar_work *k) {
    const planar_soft *soft = &m->contact;
    const planar_capsule *cap1 = &m->capsule[m->pair[which][0]];
    const planar_capsule *cap2 = &m->capsule[m->pair[which][1]];
    const planar_frame *f1 = &k->frame[cap1->joint], *f2 = &k->frame[cap2->joint];
    const planar_bar one = planar_bar_of(cap1, f1), two = planar_bar_of(cap2, f2);
    const double gx = (f2->x - f1->x) + (two.cx - one.cx);
    const double gz = (f2->z - f1->z) + (two.cz - one.cz);
    const double reach = cap1->radius + cap2->radius + soft->margin;
    double s1, px, pz, gap2, gap, depth, d, b, way, speed;
    planar_touch *t;
    if (!planar_nearest(&one, &two, gx, gz, reach, &s1, &px, &pz)) return;
    gap2 = px * px + pz * pz;
    if (!(gap2 < reach * reach && gap2 >= 1e-30)) return; /* 0: an end lies on the other segment */
    gap = planar_root(gap2);
    depth = reach - gap;
    if (!(depth > 0)) return;
    d = planar_impedance(soft, depth);
    b = planar_damping(m, soft);
    t = &k->touch[k->touches++];
    t->joint1 = cap1->joint;
    t->joint2 = cap2->joint;
    t->pair = which;
    t->nx = px / gap;
    t->nz = pz / gap;
    /* from the point on segment 1 to half way between the surfaces */
    way = cap1->radius + 0.5 * (gap - cap1->radius - cap2->radius);
    t->rx1 = one.cx + s1 * one.ux + way * t->nx;
    t->rz1 = one.cz + s1 * one.uz + way * t->nz;
    t->rx2 = t->rx1 - (f2->x - f1->x);
    t->rz2 = t->rz1 - (f2->z - f1->z);
    speed = t->nx * ((f2->v.x + f2->v.w * t->rz2) - (f1->v.x + f1->v.w * t->rz1)) +
            t->nz * ((f2->v.z - f2->v.w * t->rx2) - (f1->v.z - f1->v.w * t->rx1));
    t->aim = planar_stiffness(m, soft) * d * depth - b * speed;
    t->push = d / ((1 - d) * (mass[cap1->joint].body_weight + mass[cap2->joint].body_weight));
}

ENV_INLINE void planar_find_rows(const planar_model *m, const planar_mass *mass, const double *q,
                                 const double *v, planar_work *k) {
    int i;
    planar_find_stops(m, mass, q, v, k);
    k->contacts = k->touches = 0;
    PLANAR_UNROLL for (i = 0; i < 2 * m->capsules; i++) {
        if (m->capsule[i / 2].friction > 0) planar_ground(m, mass, i, k);
    }
    for (i = 0; i < m->pairs; i++) planar_meet(m, mass, i, k);
}

/* ---- the linear system: accelerations of a tree of bodies under forces on bodies and joints. From
   the leaves to the root, each joint is solved for its acceleration given its parent's; what is
   left acts on the parent. Then back. */
typedef struct planar_tree {
    planar_inertia inertia[PLANAR_JOINTS];
    planar_twist force[PLANAR_JOINTS];
    double torque[PLANAR_JOINTS], rotor[PLANAR_JOINTS]; /* force and inertia of the joint itself */
} planar_tree;

/* The joint accelerates its body along a direction S. With u = inertia S, along = S.u + rotor and
   push = S.force + torque, and t how the body would move without it, by a = (push - u.t) / along.
   What its parent feels of body and joint, about the parent's origin:
       inertia - u u^T / along,    force - u push / along */
typedef struct planar_axis {
    planar_twist u;
    double along, push;
} planar_axis;

/* a joint's acceleration is a - u . t_parent */
typedef struct planar_given {
    planar_twist u;
    double a;
} planar_given;

/* about a point (dx, dz) behind */
ENV_INLINE planar_inertia planar_shift(const planar_inertia *i, double dx, double dz) {
    planar_inertia s = *i;
    s.wx = i->wx + (dz * i->xx - dx * i->xz);
    s.wz = i->wz + (dz * i->xz - dx * i->zz);
    s.ww = i->ww + (dz * (i->wx + s.wx) - dx * (i->wz + s.wz));
    return s;
}

ENV_INLINE planar_twist planar_shift_force(planar_twist f, double dx, double dz) {
    f.w += dz * f.x - dx * f.z;
    return f;
}

ENV_INLINE planar_axis planar_axis_of(const planar_joint *j, const planar_frame *f, int steady,
                                      const planar_inertia *I, const planar_twist *g, double torque,
                                      double rotor) {
    const double ux = j->kind == PLANAR_SLIDE_X ? f->c : f->s;
    const double uz = j->kind == PLANAR_SLIDE_X ? -f->s : f->c;
    planar_axis s;
    if (planar_is_hinge(j->kind)) {
        s.u.w = I->ww;
        s.u.x = I->wx;
        s.u.z = I->wz;
        s.along = I->ww + rotor;
        s.push = planar_sign(j->kind) * torque + g->w;
    } else if (steady && j->kind == PLANAR_SLIDE_X) {
        s.u.w = I->wx;
        s.u.x = I->xx;
        s.u.z = I->xz;
        s.along = I->xx + rotor;
        s.push = torque + g->x;
    } else if (steady) {
        s.u.w = I->wz;
        s.u.x = I->xz;
        s.u.z = I->zz;
        s.along = I->zz + rotor;
        s.push = torque + g->z;
    } else {
        s.u.w = I->wx * ux + I->wz * uz;
        s.u.x = I->xx * ux + I->xz * uz;
        s.u.z = I->xz * ux + I->zz * uz;
        s.along = (s.u.x * ux + s.u.z * uz) + rotor;
        s.push = torque + (g->x * ux + g->z * uz);
    }
    return s;
}

/* leaves in I and g what the parent feels */
ENV_INLINE planar_given planar_free(const planar_axis *s, const planar_frame *f, int steady,
                                    planar_inertia *I, planar_twist *g) {
    const double by = 1 / s->along; /* slow: all that does not need it is done beside it */
    planar_twist u = s->u;
    planar_given given;
    if (!steady) {
        u = planar_shift_force(u, f->dx, f->dz);
        *I = planar_shift(I, f->dx, f->dz);
        *g = planar_shift_force(*g, f->dx, f->dz);
    }
    given.u.w = u.w * by;
    given.u.x = u.x * by;
    given.u.z = u.z * by;
    given.a = s->push * by;
    I->ww -= u.w * given.u.w;
    I->wx -= u.w * given.u.x;
    I->wz -= u.w * given.u.z;
    I->xx -= u.x * given.u.x;
    I->xz -= u.x * given.u.z;
    I->zz -= u.z * given.u.z;
    g->w -= u.w * given.a;
    g->x -= u.x * given.a;
    g->z -= u.z * given.a;
    return given;
}

/* to a frame that never turns, turning does not matter: its numbers are left out */
ENV_INLINE void planar_add_to(planar_inertia *J, planar_twist *h, const planar_inertia *I,
                              const planar_twist *g, int steady) {
    if (!steady) {
        J->ww += I->ww;
        J->wx += I->wx;
        J->wz += I->wz;
        h->w += g->w;
    }
    J->xx += I->xx;
    J->xz += I->xz;
    J->zz += I->zz;
    h->x += g->x;
    h->z += g->z;
}

/* joints 3 4 5 and 6 7 8 are two legs of one body */
ENV_INLINE int planar_two_legs(const planar_model *m) {
    const planar_joint *j = m->joint;
    return m->joints == 9 && j[3].parent == 2 && j[4].parent == 3 && j[5].parent == 4 &&
           j[6].parent == 2 && j[7].parent == 6 && j[8].parent == 7;
}

/* the n-th joint on the way outward. Legs take turns, so that a processor works on one while it
   waits for the other. */
ENV_INLINE int planar_outward_joint(const planar_model *m, int n) {
    static const int turns[9] = {0, 1, 2, 3, 6, 4, 7, 5, 8};
    return planar_two_legs(m) ? turns[n] : n;
}

ENV_INLINE void planar_inward(const planar_model *m, const planar_frame *frame,
                              const planar_inertia *inertia, const planar_twist *force,
                              const double *torque, const double *rotor, planar_given *given) {
    planar_inertia sum[PLANAR_JOINTS]; /* with what the joints behind leave */
    planar_twist pull[PLANAR_JOINTS];
    int n;
    PLANAR_UNROLL for (n = 0; n < m->joints; n++) {
        sum[n] = inertia[n];
        pull[n] = force[n];
    }
    PLANAR_UNROLL for (n = m->joints - 1; n >= 0; n--) {
        const int i = planar_outward_joint(m, n);
        const int parent = m->joint[i].parent, steady = planar_steady(m, parent);
        planar_inertia I = sum[i];
        planar_twist g = pull[i];
        const planar_axis s =
            planar_axis_of(&m->joint[i], &frame[i], steady, &I, &g, torque[i], rotor[i]);
        given[i] = planar_free(&s, &frame[i], steady, &I, &g);
        if (parent >= 0) planar_add_to(&sum[parent], &pull[parent], &I, &g, steady);
    }
}

ENV_INLINE void planar_outward(const planar_model *m, const planar_frame *frame,
                               const planar_given *given, planar_motion *out) {
    int n;
    PLANAR_UNROLL for (n = 0; n < m->joints; n++) {
        const int i = planar_outward_joint(m, n);
        const planar_joint *j = &m->joint[i];
        const planar_frame *f = &frame[i];
        const int steady = planar_steady(m, j->parent);
        planar_twist t = {0, 0, 0};
        double a = given[i].a;
        if (j->parent >= 0) {
            t = out->t[j->parent];
            a -= steady ? given[i].u.x * t.x + given[i].u.z * t.z
                        : given[i].u.w * t.w + (given[i].u.x * t.x + given[i].u.z * t.z);
        }
        if (!steady) {
            t.x += t.w * f->dz;
            t.z -= t.w * f->dx;
        }
        if (planar_is_hinge(j->kind)) {
            t.w = steady ? a : t.w + a;
        } else {
            t.x += j->kind == PLANAR_SLIDE_X ? (steady ? a : a * f->c) : steady ? 0 : a * f->s;
            t.z += j->kind == PLANAR_SLIDE_Z ? (steady ? a : a * f->c) : steady ? 0 : -a * f->s;
        }
        out->t[i] = t;
        out->a[i] = planar_sign(j->kind) * a;
    }
}

/* force, torque: on bodies and joints; rotor: inertia of the joints themselves */
ENV_INLINE void planar_solve(const planar_model *m, const planar_frame *frame,
                             const planar_inertia *inertia, const planar_twist *force,
                             const double *torque, const double *rotor, planar_motion *out) {
    planar_given given[PLANAR_JOINTS];
    planar_inward(m, frame, inertia, force, torque, rotor, given);
    planar_outward(m, frame, given, out);
}

/* ---- rows as inertia */
ENV_INLINE void planar_add_contact(const planar_contact *t, unsigned on, planar_tree *k) {
    /* times 0 or 1, no branch: which rows push is hard to predict */
    const double p = (int)(on & 1) * t->push, q = (int)(on >> 1 & 1) * t->push;
    const double r = (int)(on >> 2) * (2 * t->push);
    const double nn = p + q + r, nt = t->mu * (p - q), tt = t->mu * t->mu * (p + q);
    const double n = nn * t->aim_n + nt * t->aim_t, x = nt * t->aim_n + tt * t->aim_t;
    planar_inertia *I = &k->inertia[t->joint];
    planar_twist *f = &k->force[t->joint];
    I->ww += nn * t->rx * t->rx - 2 * nt * t->rx * t->rz + tt * t->rz * t->rz;
    I->wx += tt * t->rz - nt * t->rx;
    I->wz += nt * t->rz - nn * t->rx;
    I->xx += tt;
    I->xz += nt;
    I->zz += nn;
    f->w += x * t->rz - n * t->rx;
    f->x += x;
    f->z += n;
}

ENV_INLINE void planar_tree_of(const planar_model *m, const planar_work *k, planar_tree *tree) {
    int i;
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        tree->inertia[i] = k->inertia[i];
        tree->force[i] = k->force[i];
        tree->torque[i] = k->torque[i];
        tree->rotor[i] = m->joint[i].armature;
        if (planar_limited(m, i) && k->stops && k->stop[i].side != 0 && k->pushing.stop[i]) {
            tree->rotor[i] += k->stop[i].push;
            tree->torque[i] += k->stop[i].side * k->stop[i].push * k->stop[i].aim;
        }
    }
    for (i = 0; i < k->contacts; i++)
        planar_add_contact(&k->contact[i], k->pushing.end[k->contact[i].end], tree);
}

/* acceleration of the second body's point away from the first's */
ENV_INLINE double planar_apart(const planar_touch *t, const planar_twist *a) {
    const planar_twist *p = &a[t->joint1], *q = &a[t->joint2];
    return t->nx * ((q->x + q->w * t->rz2) - (p->x + p->w * t->rz1)) +
           t->nz * ((q->z - q->w * t->rx2) - (p->z - p->w * t->rx1));
}

ENV_INLINE void planar_push_apart(const planar_touch *t, double f, planar_twist *force) {
    planar_twist *p = &force[t->joint1], *q = &force[t->joint2];
    p->x -= f * t->nx;
    p->z -= f * t->nz;
    p->w -= f * (t->nx * t->rz1 - t->nz * t->rx1);
    q->x += f * t->nx;
    q->z += f * t->nz;
    q->w += f * (t->nx * t->rz2 - t->nz * t->rx2);
}

/* Gauss elimination of n rows A f = A[.][PLANAR_PAIRS], down to a triangle. A is symmetric and
   positive: no pivots. */
ENV_INLINE void planar_eliminate(double A[PLANAR_PAIRS][PLANAR_PAIRS + 1], int n) {
    int i, j, l;
    for (i = 0; i < n; i++)
        for (j = i + 1; j < n; j++) {
            const double by = A[j][i] / A[i][i];
            for (l = i; l < n; l++) A[j][l] -= by * A[i][l];
            A[j][PLANAR_PAIRS] -= by * A[i][PLANAR_PAIRS];
        }
}

/* Pushing pairs join two bodies, so they are no body's inertia. Their forces f solve a small system
   of their own: (R + J H^-1 J^T) f = aim - J a, with H the tree and a its motion without them. It
   is rare. */
ENV_INLINE void planar_add_pairs(const planar_model *m, const planar_work *k, planar_motion *out) {
    planar_motion answer[PLANAR_PAIRS];
    planar_tree tree;
    double A[PLANAR_PAIRS][PLANAR_PAIRS + 1];
    int on[PLANAR_PAIRS], n = 0, i, j;
    for (i = 0; i < k->touches; i++)
        if (k->pushing.pair[k->touch[i].pair]) on[n++] = i;
    for (i = 0; i < n; i++) {
        planar_tree_of(m, k, &tree);
        memset(tree.force, 0, sizeof tree.force);
        memset(tree.torque, 0, sizeof tree.torque);
        planar_push_apart(&k->touch[on[i]], 1, tree.force);
        planar_solve(m, k->frame, tree.inertia, tree.force, tree.torque, tree.rotor, &answer[i]);
        for (j = 0; j < n; j++) A[j][i] = planar_apart(&k->touch[on[j]], answer[i].t);
    }
    for (i = 0; i < n; i++) {
        A[i][i] += 1 / k->touch[on[i]].push;
        A[i][PLANAR_PAIRS] = k->touch[on[i]].aim - planar_apart(&k->touch[on[i]], out->t);
    }
    planar_eliminate(A, n);
    for (i = n - 1; i >= 0; i--) {
        double f = A[i][PLANAR_PAIRS];
        for (j = i + 1; j < n; j++) f -= A[i][j] * A[j][PLANAR_PAIRS];
        A[i][PLANAR_PAIRS] = f /= A[i][i];
        for (j = 0; j < m->joints; j++) {
            out->a[j] += f * answer[i].a[j];
            out->t[j].w += f * answer[i].t[j].w;
            out->t[j].x += f * answer[i].t[j].x;
            out->t[j].z += f * answer[i].t[j].z;
        }
    }
}

/* ---- which rows push under a motion */
ENV_INLINE void planar_short_of(const planar_contact *t, const planar_twist *a, double *n,
                                double *tangent) {
    *n = (a[t->joint].z - a[t->joint].w * t->rx) - t->aim_n;
    *tangent = t->mu * ((a[t->joint].x + a[t->joint].w * t->rz) - t->aim_t);
}

/* the rows that push under `by`; 1 if they are those that were thought to */
ENV_INLINE int planar_look(const planar_model *m, planar_work *k, const planar_motion *by) {
    int i, same = 1;
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        if (planar_limited(m, i) && k->stop[i].side != 0) {
            const unsigned on = k->stop[i].side * by->a[i] < k->stop[i].aim;
            same &= on == k->pushing.stop[i];
            k->pushing.stop[i] = (unsigned char)on;
        }
    }
    for (i = 0; i < k->contacts; i++) {
        unsigned char *was = &k->pushing.end[k->contact[i].end];
        double n, t;
        unsigned on;
        planar_short_of(&k->contact[i], by->t, &n, &t);
        on = (unsigned)(n + t < 0) | (unsigned)(n - t < 0) << 1 | (unsigned)(n < 0) << 2;
        same &= on == *was;
        *was = (unsigned char)on;
    }
    for (i = 0; i < k->touches; i++) {
        unsigned char *was = &k->pushing.pair[k->touch[i].pair];
        const unsigned on = planar_apart(&k->touch[i], by->t) < k->touch[i].aim;
        same &= on == *was;
        *was = (unsigned char)on;
    }
    return same;
}

/* ---- the line search: the least cost between two motions. Along the way each row falls short by a
   linear function. */
enum { PLANAR_ROWS = 3 * PLANAR_ENDS + PLANAR_JOINTS + PLANAR_PAIRS };

typedef struct planar_line {
    double at[PLANAR_ROWS], to[PLANAR_ROWS], push[PLANAR_ROWS];
    int rows;
} planar_line;

ENV_INLINE void planar_line_add(planar_line *l, double at, double to, double push) {
    l->at[l->rows] = at;
    l->to[l->rows] = to - at;
    l->push[l->rows++] = push;
}

/* of the cost, at s */
ENV_INLINE double planar_slope(const planar_line *l, double inertia, double first, double s) {
    double sum = first + s * inertia;
    int i;
    for (i = 0; i < l->rows; i++) {
        const double y = l->at[i] + s * l->to[i];
        sum += l->push[i] * l->to[i] * ((y < 0 ? y : 0) - (l->at[i] < 0 ? l->at[i] : 0));
    }
    return sum;
}

/* walks from bend to bend of the cost until it rises; between bends the slope is linear */
ENV_INLINE double planar_least(const planar_line *l, double inertia) {
    double first = -inertia, s = 0, slope;
    int i;
    for (i = 0; i < l->rows; i++)
        if (l->at[i] < 0) first -= l->push[i] * l->to[i] * l->to[i];
    slope = first;
    if (!(slope < 0)) return 1; /* the two motions are one */
    for (;;) {
        double next = 2, ahead;
        for (i = 0; i < l->rows; i++) {
            const double bend = l->to[i] != 0 ? -l->at[i] / l->to[i] : 0;
            if (bend > s && bend < next) next = bend;
        }
        ahead = planar_slope(l, inertia, first, next);
        if (ahead >= 0) return s + (next - s) * (slope / (slope - ahead));
        if (!(next < 2)) return 1;
        s = next;
        slope = ahead;
    }
}

/* (a - b)^T M (a - b) */
ENV_INLINE double planar_energy(const planar_model *m, const planar_work *k, const planar_motion *a,
                                const planar_motion *b) {
    double sum = 0;
    int i;
    for (i = 0; i < m->joints; i++) {
        const planar_inertia *I = &k->inertia[i];
        const double w = a->t[i].w - b->t[i].w, x = a->t[i].x - b->t[i].x;
        const double z = a->t[i].z - b->t[i].z, q = a->a[i] - b->a[i];
        sum += w * (I->ww * w + 2 * (I->wx * x + I->wz * z)) + I->xx * x * x + I->zz * z * z;
        sum += m->joint[i].armature * q * q;
    }
    return sum;
}

ENV_INLINE void planar_search(const planar_model *m, const planar_work *k, planar_motion *from,
                              const planar_motion *to) {
    planar_line l;
    double s, n0, t0, n1, t1;
    int i;
    l.rows = 0;
    for (i = 0; i < m->joints; i++)
        if (planar_limited(m, i) && k->stop[i].side != 0)
            planar_line_add(&l, k->stop[i].side * from->a[i] - k->stop[i].aim,
                            k->stop[i].side * to->a[i] - k->stop[i].aim, k->stop[i].push);
    for (i = 0; i < k->contacts; i++) {
        planar_short_of(&k->contact[i], from->t, &n0, &t0);
        planar_short_of(&k->contact[i], to->t, &n1, &t1);
        planar_line_add(&l, n0 + t0, n1 + t1, k->contact[i].push);
        planar_line_add(&l, n0 - t0, n1 - t1, k->contact[i].push);
        planar_line_add(&l, n0, n1, 2 * k->contact[i].push);
    }
    for (i = 0; i < k->touches; i++)
        planar_line_add(&l, planar_apart(&k->touch[i], from->t) - k->touch[i].aim,
                        planar_apart(&k->touch[i], to->t) - k->touch[i].aim, k->touch[i].push);
    s = planar_least(&l, planar_energy(m, k, from, to));
    for (i = 0; i < m->joints; i++) {
        from->a[i] += s * (to->a[i] - from->a[i]);
        from->t[i].w += s * (to->t[i].w - from->t[i].w);
        from->t[i].x += s * (to->t[i].x - from->t[i].x);
        from->t[i].z += s * (to->t[i].z - from->t[i].z);
    }
}

/* ---- accelerations of a state under controls; k keeps what pushed, for the next guess */
enum { PLANAR_ROUNDS = 50 }; /* never reached but by rows that stand exactly on the edge */

ENV_INLINE void planar_prepare(const planar_model *m, const planar_mass *mass, const double *q,
                               const double *v, const double *ctrl, planar_work *k) {
    planar_place(m, q, v, k->frame);
    planar_weigh(m, mass, k);
    planar_drive(m, q, v, ctrl, k->torque);
    planar_find_rows(m, mass, q, v, k);
}

ENV_INLINE void planar_settle(const planar_model *m, planar_work *k) {
    planar_tree tree;
    planar_motion other, *next = &k->motion;
    for (k->rounds = 1;; k->rounds++) {
        planar_tree_of(m, k, &tree);
        planar_solve(m, k->frame, tree.inertia, tree.force, tree.torque, tree.rotor, next);
        if (k->touches) planar_add_pairs(m, k, next);
        if (planar_look(m, k, next) || k->rounds == PLANAR_ROUNDS) break;
        if (k->rounds == 1) {
            next = &other;
        } else {
            planar_search(m, k, &k->motion, next);
            (void)planar_look(m, k, &k->motion);
        }
    }
    if (k->rounds > 1) k->motion = other;
}

ENV_INLINE void planar_accelerate(const planar_model *m, const planar_mass *mass, const double *q,
                                  const double *v, const double *ctrl, planar_work *k) {
    planar_prepare(m, mass, q, v, ctrl, k);
    planar_settle(m, k);
}

/* no branch: which rows push is hard to predict */
ENV_INLINE double planar_above_0(double x) { return x > 0 ? x : 0; }

/* adds the forces of the rows under the motion found */
ENV_INLINE void planar_add_forces(const planar_model *m, const planar_work *k, planar_twist *force,
                                  double *torque) {
    int i;
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        if (planar_limited(m, i) && k->stops && k->stop[i].side != 0) {
            const double missing = k->stop[i].aim - k->stop[i].side * k->motion.a[i];
            if (missing > 0) torque[i] += k->stop[i].side * k->stop[i].push * missing;
        }
    }
    for (i = 0; i < k->contacts; i++) {
        const planar_contact *c = &k->contact[i];
        planar_twist *f = &force[c->joint];
        double n, t, p, q, r;
        planar_short_of(c, k->motion.t, &n, &t);
        p = planar_above_0(-(n + t)) * c->push;
        q = planar_above_0(-(n - t)) * c->push;
        r = planar_above_0(-2 * n) * c->push;
        n = p + q + r;
        t = c->mu * (p - q);
        f->w += t * c->rz - n * c->rx;
        f->x += t;
        f->z += n;
    }
    for (i = 0; i < k->touches; i++) {
        const double missing = k->touch[i].aim - planar_apart(&k->touch[i], k->motion.t);
        if (missing > 0) planar_push_apart(&k->touch[i], k->touch[i].push * missing, force);
    }
}

/* what the rows do to the joints: MuJoCo's qfrc_constraint */
ENV_INLINE void planar_constraint(const planar_model *m, const planar_work *k, double *torque) {
    planar_twist force[PLANAR_JOINTS];
    int i;
    memset(force, 0, sizeof force);
    for (i = 0; i < m->joints; i++) torque[i] = 0;
    planar_add_forces(m, k, force, torque);
    for (i = m->joints - 1; i >= 0; i--) {
        const planar_joint *j = &m->joint[i];
        const planar_frame *f = &k->frame[i];
        planar_twist *up;
        if (planar_is_hinge(j->kind))
            torque[i] += planar_sign(j->kind) * force[i].w;
        else if (j->kind == PLANAR_SLIDE_X)
            torque[i] += f->c * force[i].x - f->s * force[i].z;
        else
            torque[i] += f->s * force[i].x + f->c * force[i].z;
        if (j->parent < 0) continue;
        up = &force[j->parent];
        up->w += force[i].w + f->dz * force[i].x - f->dx * force[i].z;
        up->x += force[i].x;
        up->z += force[i].z;
    }
}

/* ---- time. Runge-Kutta: a step forward with each of four slopes; their mean, the middle two
   counted twice. */
ENV_INLINE void planar_runge_kutta(const planar_model *m, const planar_mass *mass, double *q,
                                   double *v, const double *ctrl, planar_work *k) {
    const double h = m->timestep, ahead[4] = {0.5 * h, 0.5 * h, h, 0}, share[4] = {1, 2, 2, 1};
    double at[PLANAR_JOINTS], speed[PLANAR_JOINTS], dq[PLANAR_JOINTS], dv[PLANAR_JOINTS];
    int i, stage;
    for (i = 0; i < m->joints; i++) {
        at[i] = q[i];
        speed[i] = v[i];
        dq[i] = dv[i] = 0;
    }
    for (stage = 0; stage < 4; stage++) {
        planar_accelerate(m, mass, at, speed, ctrl, k);
        for (i = 0; i < m->joints; i++) {
            dq[i] += share[stage] * speed[i];
            dv[i] += share[stage] * k->motion.a[i];
            at[i] = q[i] + ahead[stage] * speed[i];
            speed[i] = v[i] + ahead[stage] * k->motion.a[i];
        }
    }
    for (i = 0; i < m->joints; i++) {
        q[i] += h / 6 * dq[i];
        v[i] += h / 6 * dv[i];
    }
}

/* Euler: the forces found act again on joints that are slower by their damping:
   (M + h damping) a = forces */
ENV_INLINE void planar_euler(const planar_model *m, const planar_mass *mass, double *q, double *v,
                             const double *ctrl, planar_work *k) {
    const double h = m->timestep;
    planar_motion slowed;
    double rotor[PLANAR_JOINTS];
    int i;
    planar_prepare(m, mass, q, v, ctrl, k);
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        rotor[i] = m->joint[i].armature + h * m->joint[i].damping;
    }
    if (k->contacts + k->stops + k->touches > 0) {
        planar_settle(m, k);
        planar_add_forces(m, k, k->force, k->torque);
    }
    planar_solve(m, k->frame, k->inertia, k->force, k->torque, rotor, &slowed);
    PLANAR_UNROLL for (i = 0; i < m->joints; i++) {
        v[i] += h * slowed.a[i];
        q[i] += h * v[i];
    }
}

ENV_INLINE void planar_physics(const planar_model *m, const planar_mass *mass, double *q, double *v,
                               const double *ctrl, planar_work *k) {
    if (m->euler)
        planar_euler(m, mass, q, v, ctrl, k);
    else
        planar_runge_kutta(m, mass, q, v, ctrl, k);
}

/* the guess before the first step: all that touches sticks */
ENV_INLINE void planar_guess(planar_work *k) {
    memset(k->pushing.end, 7, sizeof k->pushing.end);
    memset(k->pushing.stop, 1, sizeof k->pushing.stop);
    memset(k->pushing.pair, 1, sizeof k->pushing.pair);
}

/* ---- a control step */
ENV_INLINE int planar_sane(const planar_model *m, const double *q, const double *v) {
    int i, sane = 1;
    for (i = 0; i < m->joints; i++)
        sane &= q[i] <= PLANAR_LOST && q[i] >= -PLANAR_LOST && v[i] <= PLANAR_LOST &&
                v[i] >= -PLANAR_LOST;
    return sane;
}

ENV_INLINE void planar_rest(const planar_model *m, double *q, double *v) {
    int i;
    for (i = 0; i < m->joints; i++) {
        q[i] = m->joint[i].start;
        v[i] = 0;
    }
}

ENV_INLINE int planar_motors(const planar_model *m) {
    int i, n = 0;
    for (i = 0; i < m->joints; i++) n += m->joint[i].gear != 0;
    return n;
}

/* sum of squares */
ENV_INLINE double planar_effort(const double *act, int n) {
    double sum = 0;
    int i;
    for (i = 0; i < n; i++) sum += act[i] * act[i];
    return sum;
}

/* planar_physics() or planar_accelerate() of one model; v2: with the masses of the -v2 tasks */
typedef void planar_engine(int v2, double *q, double *v, const double *ctrl, planar_work *k);

/* 0: an action, or its square, is not finite, or the simulation is lost; then the state is the last
   sane one. k keeps the last evaluation, which with Runge-Kutta is that of the fourth slope. */
ENV_INLINE int planar_control(const planar_model *m, planar_engine *physics, int v2, double *q,
                              double *v, const double *act, planar_work *k) {
    const double effort = planar_effort(act, planar_motors(m));
    double q0[PLANAR_JOINTS], v0[PLANAR_JOINTS];
    int i;
    for (i = 0; i < m->joints; i++) {
        q0[i] = q[i];
        v0[i] = v[i];
    }
    planar_guess(k);
    for (i = 0; i < m->frame_skip; i++) physics(v2, q, v, act, k);
    if (planar_sane(m, q, v) && effort - effort == 0) return 1;
    for (i = 0; i < m->joints; i++) {
        q[i] = q0[i];
        v[i] = v0[i];
    }
    if (!planar_sane(m, q, v)) planar_rest(m, q, v);
    return 0;
}

/* ---- an environment of resnharpg.h: a body that moves by the rules of its task */
typedef struct planar_task planar_task;

typedef struct planar_body {
    double q[PLANAR_JOINTS], v[PLANAR_JOINTS]; /* one position and one speed for each joint */
    double tip_x, tip_z, force[PLANAR_JOINTS]; /* of the last evaluation, if the task senses it */
    const planar_task *task;
    int v2; /* masses of the -v2 tasks */
} planar_body;

struct planar_task {
    const planar_model *model;
    planar_engine *physics;
    planar_engine *sense; /* accelerations, if tip and forces are wanted at the start; or NULL */
    void (*observe)(const planar_body *b, rn_real *obs);
    /* reward and end of a control step that began at q[0] = x */
    rn_step_result (*judge)(const planar_body *b, double x, const double *act, double *reward);
    size_t obs_dim;
    double q_noise, v_noise; /* at the start: positions and speeds are off by up to so much, */
    int v_normal;            /* or speeds by a normal number of this deviation */
    int clamp;               /* actions are clamped before all else and NaN is 0: none is refused */
    double lost_reward;      /* of a control step that planar_control() refuses; it terminates */
    double limit;            /* saved numbers beyond it are refused */
};

/* the upper end (a) of the last capsule, and what the rows do to the joints */
ENV_INLINE void planar_sense(const planar_model *m, const planar_work *k, planar_body *b) {
    const planar_capsule *last = &m->capsule[m->capsules - 1];
    const planar_frame *f = &k->frame[last->joint];
    b->tip_x = f->x + f->c * last->ax + f->s * last->az;
    b->tip_z = f->z + f->c * last->az - f->s * last->ax;
    planar_constraint(m, k, b->force);
}

/* one control step */
ENV_FN rn_step_result planar_move(planar_body *b, const double *act, double *reward) {
    const planar_task *t = b->task;
    const double x = b->q[0];
    planar_work k;
    *reward = t->lost_reward;
    if (!planar_control(t->model, t->physics, b->v2, b->q, b->v, act, &k)) return RN_TERMINATED;
    if (t->sense) planar_sense(t->model, &k, b);
    return t->judge(b, x, act, reward);
}

ENV_FN void planar_reset(void *self, const agg_rng *rng, rn_real *obs) {
    planar_body *b = (planar_body *)self;
    const planar_task *t = b->task;
    const planar_model *m = t->model;
    int i;
    planar_rest(m, b->q, b->v);
    for (i = 0; i < m->joints; i++) b->q[i] += 2 * t->q_noise * rn_draw_uniform(rng) - t->q_noise;
    for (i = 0; i < m->joints; i++)
        b->v[i] += t->v_normal ? t->v_noise * rn_draw_normal(rng)
                               : 2 * t->v_noise * rn_draw_uniform(rng) - t->v_noise;
    if (t->sense) {
        const double idle[PLANAR_JOINTS] = {0};
        planar_work k;
        planar_guess(&k);
        t->sense(b->v2, b->q, b->v, idle, &k);
        planar_sense(m, &k, b);
    }
    t->observe(b, obs);
}

ENV_INLINE void planar_read_action(const planar_task *t, const rn_real *act, double *ctrl) {
    const int motors = planar_motors(t->model);
    int i;
    for (i = 0; i < motors; i++)
        ctrl[i] = t->clamp ? planar_clamp((double)act[i], t->model->ctrl) : (double)act[i];
}

ENV_FN rn_step_result planar_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                  double *reward) {
    planar_body *b = (planar_body *)self;
    double ctrl[PLANAR_JOINTS];
    rn_step_result r;
    (void)rng;
    planar_read_action(b->task, act, ctrl);
    r = planar_move(b, ctrl, reward);
    b->task->observe(b, obs);
    return r;
}

/* 16 bytes for each joint: positions, then speeds */
ENV_FN void planar_save(const void *self, void *bytes) {
    const planar_body *b = (const planar_body *)self;
    const int n = b->task->model->joints;
    env_put(b->q, n, (unsigned char *)bytes);
    env_put(b->v, n, (unsigned char *)bytes + 8 * n);
}

/* 0: refused, for NaN or numbers that are too large */
ENV_FN int planar_load(void *self, const void *bytes) {
    planar_body *b = (planar_body *)self;
    const int n = b->task->model->joints;
    const double limit = b->task->limit;
    double state[2 * PLANAR_JOINTS];
    int i;
    env_get(state, 2 * n, (const unsigned char *)bytes);
    for (i = 0; i < 2 * n; i++)
        if (!(state[i] <= limit && state[i] >= -limit)) return 0;
    memcpy(b->q, state, sizeof *state * (size_t)n);
    memcpy(b->v, state + n, sizeof *state * (size_t)n);
    return 1;
}

ENV_FN rn_env planar_env(planar_body *b, const planar_task *t, int v2) {
    rn_env e;
    memset(&e, 0, sizeof e);
    b->task = t;
    b->v2 = v2;
    e.self = b;
    e.reset = planar_reset;
    e.step = planar_step;
    e.obs_dim = t->obs_dim;
    e.act_dim = (size_t)planar_motors(t->model);
    e.act_low = -t->model->ctrl;
    e.act_high = t->model->ctrl;
    e.state_size = 16 * (size_t)t->model->joints;
    e.save = planar_save;
    e.load = planar_load;
    return e;
}

ENV_END

/* ---- to draw: the capsules of a state in the world */
typedef struct planar_segment {
    double ax, az, bx, bz, radius;
} planar_segment;

/* out: m->capsules of them */
ENV_FN void planar_segments(const planar_model *m, const double *q, planar_segment *out) {
    const planar_frame world = {0, 1, 0, 0, 0, 0, 0, {0, 0, 0}, 0, 0};
    planar_frame frame[PLANAR_JOINTS];
    int i;
    for (i = 0; i < m->joints; i++)
        frame[i] = planar_after(m->joint[i].parent < 0 ? &world : &frame[m->joint[i].parent],
                                &m->joint[i], 0, q[i], 0);
    for (i = 0; i < m->capsules; i++) {
        const planar_capsule *cap = &m->capsule[i];
        const planar_frame *f = &frame[cap->joint];
        out[i].ax = f->x + f->c * cap->ax + f->s * cap->az;
        out[i].az = f->z + f->c * cap->az - f->s * cap->ax;
        out[i].bx = f->x + f->c * cap->bx + f->s * cap->bz;
        out[i].bz = f->z + f->c * cap->bz - f->s * cap->bx;
        out[i].radius = cap->radius;
    }
}

/* ---- the model as MJCF, so that MuJoCo can load what is simulated here:
   planar_print(stdout, &hopper_model, 0). Every number has 17 digits, so that it is read back as it
   was. */
ENV_FN void planar_print_soft(FILE *out, const planar_soft *s, const char *suffix) {
    fprintf(out, "solref%s=\"%.17g 1\" solimp%s=\"%.17g %.17g %.17g\" margin=\"%.17g\"", suffix,
            s->time, suffix, s->low, s->high, s->width, s->margin);
}

ENV_FN void planar_print_joint(FILE *out, const planar_model *m, int i) {
    static const char *const axis[] = {"1 0 0", "0 0 1", "0 1 0", "0 -1 0"};
    const planar_joint *j = &m->joint[i];
    fprintf(out,
            "<joint name=\"%s\" type=\"%s\" axis=\"%s\" ref=\"%.17g\" limited=\"%s\" "
            "range=\"%.17g %.17g\" stiffness=\"%.17g\" damping=\"%.17g\" armature=\"%.17g\"/>\n",
            j->name, planar_is_hinge(j->kind) ? "hinge" : "slide", axis[j->kind], j->start,
            j->low < j->high ? "true" : "false", j->low, j->high, j->stiffness, j->damping,
            j->armature);
}

/* the body that joint i, and those behind it without a body, move; then the bodies on it */
ENV_FN void planar_print_body(FILE *out, const planar_model *m, const planar_mass *mass, int i) {
    double x = m->joint[i].x, z = m->joint[i].z;
    int first = i, j;
    for (; !m->joint[i].body && i + 1 < m->joints; i++) {
        x += m->joint[i + 1].x;
        z += m->joint[i + 1].z;
    }
    fprintf(out, "<body name=\"%s\" pos=\"%.17g 0 %.17g\">\n",
            m->joint[i].body ? m->joint[i].body : "", x, z);
    for (j = first; j <= i; j++) planar_print_joint(out, m, j);
    /* of the three inertias only the middle one matters */
    fprintf(out,
            "<inertial mass=\"%.17g\" pos=\"%.17g 0 %.17g\" diaginertia=\"%.17g %.17g %.17g\"/>\n",
            mass[i].mass, mass[i].x, mass[i].z, mass[i].inertia, mass[i].inertia, mass[i].inertia);
    for (j = 0; j < m->capsules; j++) {
        const planar_capsule *c = &m->capsule[j];
        if (c->joint == i)
            fprintf(out,
                    "<geom name=\"%s\" type=\"capsule\" fromto=\"%.17g 0 %.17g %.17g 0 %.17g\" "
                    "size=\"%.17g\"/>\n",
                    c->name, c->ax, c->az, c->bx, c->bz, c->radius);
    }
    for (j = i + 1; j < m->joints; j++)
        if (m->joint[j].parent == i) planar_print_body(out, m, mass, j);
    fprintf(out, "</body>\n");
}

ENV_FN void planar_print_pair(FILE *out, const planar_model *m, const char *first,
                              const char *second, double mu) {
    fprintf(out, "<pair geom1=\"%s\" geom2=\"%s\" ", first, second);
    if (mu > 0)
        fprintf(out, "condim=\"3\" friction=\"%.17g %.17g 0.005 0.0001 0.0001\" ", mu, mu);
    else
        fprintf(out, "condim=\"1\" ");
    planar_print_soft(out, &m->contact, "");
    fprintf(out, "/>\n");
}

ENV_FN void planar_print(FILE *out, const planar_model *m, int v2) {
    int i;
    fprintf(out,
            "<mujoco model=\"%s\">\n<compiler angle=\"radian\" inertiafromgeom=\"false\"/>\n"
            "<option integrator=\"%s\" timestep=\"%.17g\" gravity=\"%.17g 0 %.17g\" "
            "solver=\"Newton\" cone=\"pyramidal\"/>\n<size njmax=\"500\" nconmax=\"100\"/>\n"
            "<default>\n<geom contype=\"0\" conaffinity=\"0\"/>\n<joint ",
            m->name, m->euler ? "Euler" : "RK4", m->timestep, m->gravity_x, m->gravity_z);
    planar_print_soft(out, &m->stop, "limit");
    fprintf(out, "/>\n</default>\n<worldbody>\n"
                 "<geom name=\"floor\" type=\"plane\" size=\"40 40 40\"/>\n");
    for (i = 0; i < m->joints; i++)
        if (m->joint[i].parent < 0) planar_print_body(out, m, m->mass[v2 != 0], i);
    fprintf(out, "</worldbody>\n<contact>\n");
    for (i = 0; i < m->capsules; i++)
        if (m->capsule[i].friction > 0)
            planar_print_pair(out, m, "floor", m->capsule[i].name, m->capsule[i].friction);
    for (i = 0; i < m->pairs; i++)
        planar_print_pair(out, m, m->capsule[m->pair[i][0]].name, m->capsule[m->pair[i][1]].name,
                          0);
    fprintf(out, "</contact>\n<actuator>\n");
    for (i = 0; i < m->joints; i++)
        if (m->joint[i].gear != 0)
            fprintf(out,
                    "<motor joint=\"%s\" gear=\"%.17g\" ctrllimited=\"true\" ctrlrange=\"%.17g "
                    "%.17g\"/>\n",
                    m->joint[i].name, m->joint[i].gear, -m->ctrl, m->ctrl);
    fprintf(out, "</actuator>\n</mujoco>\n");
}
#endif
