/*
Package flow steers requests into the fair queue, as FlowSchemas and PriorityLevelConfigurations say. Package httpapi
asks it for the schema of each request.

	store -- changes --> Controller.follow -- compile --> table --> Classify(user, route) -> *Schema -> fair.Class
	                          |                  |
	                          |                  '--> fair.Queue.Configure: the seats of each level
	                          '--> mandatory and suggested objects, the condition Dangling

The objects are compiled once for each change, and the first time when a request needs it: requests of system:masters
do not, because the mandatory schema exempt, which no other may precede, matches them. Classification does not
allocate.
*/
package flow
