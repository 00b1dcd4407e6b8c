"""Contacts in a block of threads: C++ that :mod:`pbd_gym.kernels.contacts.particles` includes.

A thread counts the contacts of one member after the other, then sums its corrections, and does so a second time where
that is asked for. Both members of a pair work it out, the one with the lower number first, so that both come to the
same bits.
"""

IN_BLOCKS = """
#if SURFACES
    PBD_SYNC();  // threads look at normals of all patches
#endif
    T* const delta = (T*)body.delta.data;
    T* const valence = (T*)lists.valence.data + rank * lists.valence.shape[1] * LANES;
#if RIGID
    T* const crowd_of = valence + count * LANES;
#endif
#if PASSES > 1
    T* const more = valence + (RIGID + 1) * (size_t)count * LANES;  // what the second pass moves members by
#endif
    const auto member = [&](int k) {
        Member m;
        const T* const now = x + ROW * members[k] * LANES + lane_;
        const T* const before = previous + ROW * members[k] * LANES + lane_;
        const T* const traits = table.traits.data + 4 * k;
        m.x = now[0]; m.y = now[LANES]; m.z = now[2 * LANES]; m.w = w[members[k] * LANES + lane_];
        m.px = before[0]; m.py = before[LANES]; m.pz = before[2 * LANES];
#if SURFACES
        m.w = WEIGHT_OF(m.w, ((const T*)body.traction.data)[members[k] * LANES + lane_]);
        const T* const patch = patches + 4 * k * LANES + lane_;
        m.nx = patch[0]; m.ny = patch[LANES]; m.nz = patch[2 * LANES]; m.flat = patch[3 * LANES];
#endif
#if RIGID
        m.leverage = table.leverage.data[k];
        m.crowd = crowd_of[LANES * k + lane_];
#endif
        m.radius = traits[0]; m.extent = traits[1]; m.friction = traits[2]; m.role = traits[3];
        return m;
    };
    for (int k = thread; k < count; k += thread_count) {
        const int i = members[k];
        const bool listed = lengths[k] >= 0;  // else there are too many candidates: it is compared with all
        const int end = listed ? lengths[k] : count;
        int length = 0;
        T contacts[LANES];
        for (lane_ = 0; lane_ < LANES; ++lane_) contacts[lane_] = T(0);
        lane_ = 0;
        Member mine = member(k);
        for (int n = 0; n < end; ++n) {
            const int other = listed ? near[entry(k, n)] : n, j = members[other];
            if (!listed && (other == k || !strangers(k, other))) continue;
            bool any = false;
            for (lane_ = 0; lane_ < LANES; ++lane_) {
                const T* const p = x + ROW * i * LANES + lane_;
                const T* const q = x + ROW * j * LANES + lane_;
                const T dx = p[0] - q[0], dy = p[LANES] - q[LANES], dz = p[2 * LANES] - q[2 * LANES];
                const T rest2 = (dx * dx + dy * dy + dz * dz) * (INV_SIZE * INV_SIZE);
                if (!(rest2 < widest * widest)) continue;
                if (LANES > 1) mine = member(k);
                const Member its = member(other);
                const Touch t = touch(k < other ? mine : its, k < other ? its : mine);
                if (t.inside > T(0)) {
                    any = true;
                    contacts[lane_] += T(1);
                }
            }
            if (!any) continue;
            // In the order of numbers, in which what moves the member is summed.
            if (length < table.capacity) {
                int at = length;
                for (; at > 0 && touching[entry(k, at - 1)] > other; --at)
                    touching[entry(k, at)] = touching[entry(k, at - 1)];
                touching[entry(k, at)] = other;
            }
            ++length;
        }
        touching_lengths[k] = length <= table.capacity ? length : -1;
        for (int n = 0; n < LANES; ++n) valence[LANES * k + n] = contacts[n];
    }
    PBD_SYNC();
#if RIGID
    // Each contact has its part of the whole body.
    for (int k = thread; k < count; k += thread_count) {
        const int b = table.owner.data[k];
        EACH_LANE {
            V crowd = V(T(b < 0 ? 1 : 0));
            if (b >= 0)
                for (int n = table.crowd_start.data[b]; n < table.crowd_start.data[b + 1]; ++n)
                    crowd += LOAD(valence + LANES * table.crowd.data[n]);
            STORE(crowd_of + LANES * k, crowd);
        }
    }
    PBD_SYNC();
#endif
    const auto moved = [&](Member m, int k) {
        const T* const move = delta + 3 * members[k] * LANES + lane_;
#if RIGID && PASSES > 1
        if (table.owner.data[k] >= 0) {
            if (!(m.w > T(0))) return m;
            T gone[3];
            carried(k, m.x, m.y, m.z, gone);
            m.x += gone[0]; m.y += gone[1]; m.z += gone[2];
            return m;
        }
#endif
        m.x += move[0]; m.y += move[LANES]; m.z += move[2 * LANES];
        return m;
    };
    // Members of rigid bodies have one sum for both passes, as nobody looks at the first.
    const auto apart = [&](int k) { return !RIGID || table.owner.data[k] < 0; };
    // Sum what moves each member. The second pass starts from where the first one leads, and has the same pairs.
    const auto part_all = [&](bool again, auto&& sum_of) {
        for (int k = thread; k < count; k += thread_count) {
            const bool listed = touching_lengths[k] >= 0;
            const int end = listed ? touching_lengths[k] : count;
            if (end == 0) continue;
            T sum[3 * LANES];
            for (int a = 0; a < 3 * LANES; ++a) sum[a] = sum_of(k)[a];
            lane_ = 0;
            Member mine = member(k);
            for (int n = 0; n < end; ++n) {
                const int other = listed ? touching[entry(k, n)] : n;
                if (!listed && (other == k || !strangers(k, other))) continue;
                const int one = wp::min(k, other), two = wp::max(k, other);
                for (lane_ = 0; lane_ < LANES; ++lane_) {
                    if (LANES > 1) mine = member(k);
                    const Member its = member(other);
                    Member a = k < other ? mine : its, b = k < other ? its : mine;
                    Touch t = touch(a, b);  // the pair may be here because of other lanes
                    if (!(t.inside > T(0))) continue;
                    T gained = T(0);
                    if (again) {
                        const Member first = a, second = b;
                        a = moved(a, one);
                        b = moved(b, two);
                        t = touch(a, b);
                        const T gx = (a.x - first.x) - (b.x - second.x);
                        const T gy = (a.y - first.y) - (b.y - second.y);
                        const T gz = (a.z - first.z) - (b.z - second.z);
                        gained = gx * t.nx + gy * t.ny + gz * t.nz;
                    }
                    T mx, my, mz;
                    part(a, b, t, valence[LANES * one + lane_], valence[LANES * two + lane_], gained, mx, my, mz);
                    const T share = k == one ? a.w : -b.w;
                    const T sx = share * mx, sy = share * my, sz = share * mz;
                    sum[lane_] += sx;
                    sum[LANES + lane_] += sy;
                    sum[2 * LANES + lane_] += sz;
                }
            }
            for (int a = 0; a < 3 * LANES; ++a) sum_of(k)[a] = sum[a];
        }
        PBD_SYNC();
    };
    part_all(false, [&](int k) { return delta + 3 * members[k] * LANES; });
#if PASSES > 1
#if RIGID
    for (int b = thread; b < table.crowd_count; b += thread_count)
        for (lane_ = 0; lane_ < LANES; ++lane_)
            carry(b, [&](int k, int a) { return delta[(3 * members[k] + a) * LANES + lane_]; });
    PBD_SYNC();
#endif
    for (int k = thread; k < count; k += thread_count)
        for (int a = 0; a < 3; ++a) EACH_LANE { STORE(more + (3 * k + a) * LANES, V(T(0))); }
    part_all(true, [&](int k) { return apart(k) ? more + 3 * k * LANES : delta + 3 * members[k] * LANES; });
#endif
    for (int k = thread; k < count; k += thread_count) {
        const int i = members[k];
        EACH_LANE {
            const V contacts = LOAD(valence + LANES * k);
            if (!ANY(contacts > T(0))) continue;
            for (int a = 0; a < 3; ++a) {
                const V old = LOAD(x + (ROW * i + a) * LANES);
                V goal = old + LOAD(delta + (3 * i + a) * LANES);
#if PASSES > 1
                if (apart(k)) goal = goal + LOAD(more + (3 * k + a) * LANES);
#endif
                STORE(x + (ROW * i + a) * LANES, contacts > T(0) ? goal : old);  // -0 stays -0 without a contact
                STORE(delta + (3 * i + a) * LANES, V(T(0)));
            }
            if (ANY(contacts > T(table.capacity)))
                for (int n = 0; n < LANES; ++n)
                    PBD_ATOMIC_MAX(
                        lists.overflow.data[group * LANES + n], (int)valence[LANES * k + n] - table.capacity);
        }
    }
    PBD_SYNC();
"""
"""Statements that part all members that touch, from their lists of candidates."""
