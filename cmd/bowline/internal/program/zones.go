package program

import _ "time/tzdata" // time zones of CronJobs, for machines without a zone database
