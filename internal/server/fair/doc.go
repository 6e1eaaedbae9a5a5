/*
Package fair limits the number of requests that run at once, and shares that limit fairly between users. It does
not depend on HTTP; package httpapi calls it before it serves a request.

The limit is a number of seats. A request occupies as many seats as it weighs: one, or more if it is large. Requests
belong to a flow (those of one program), flows to a user, and users to a class, which is a FlowSchema and its priority
level. Configure divides the seats among the levels: each keeps some, and lends others while it does not need them.
Within what a level may use, one rule assigns seats, that of dynamic thresholds, by which switches share their memory
(Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998):

	A user may hold as many seats as are free, and a flow as many as its user may still receive.

So one flow alone holds up to a third of the seats, and two users with one flow each two fifths together. Unless there
are many users, some seats stay free: the first request of a new user does not wait for running requests, which may be
slow. Without Configure, there is one level, which has all seats.

	12 seats in all        one flow runs          another user's first request has a seat at once
	                       [aaaa........]         [aaaab.......]

Requests without seats wait, in order within their flow. Free seats go to the levels that have fewer than their part
first, then to the users in turn, and to the flows of each user in turn. The same rule limits how many requests may
wait. A request that may not wait is refused at once, and one that has waited too long is refused then, both with a
*Refusal.

A Queue has no goroutine, and no timers except those of waiting requests. A request that does not wait costs two locks
and no allocation.
*/
package fair
