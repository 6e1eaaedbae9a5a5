/*
Package fair lets requests work, a bounded number at once, so that nobody who sends many keeps others waiting. It knows
nothing of HTTP: package server asks it before it serves a request.

What is shared are seats. A request takes as many as it weighs: one, or more for what is large. Requests belong to a flow
(what one program sends), and flows to a user. What decides is one rule, that of dynamic thresholds, by which switches share their
memory (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998):

	a user may hold as many seats as are free, and a flow as many as its user may still take.

One flow alone gets a third of the seats so, two users with a flow each get two fifths together, and however many there
are, some seats stay free: the first request of whoever comes next does not wait for those that work, which may be slow.
Nobody's seats are reserved, and none has to be configured.

	seats, 12 in all       one flow works         another user comes: its first request has a seat at once
	                       [aaaa........]         [aaaab.......]

Requests that find no seat wait, in the order in which they came within their flow; a seat that is left goes to users in
turn, and to the flows of each in turn. The places to wait are shared by the same rule. Who finds none is refused
at once, and who has waited too long is, too: a *Refusal.

A Queue has no goroutine, and no timer but those of requests that wait. A request that does not wait costs two locks and no
allocation.
*/
package fair
