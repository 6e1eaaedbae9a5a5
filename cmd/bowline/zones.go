package main

import _ "time/tzdata" // so that the time zones of cronjobs are known on a machine that has none, as a bare image
