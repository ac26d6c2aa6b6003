# What somebody does who works in R: connect, look, ask, be refused, go. Prints one line for each step.
library(DBI)
is_new <- requireNamespace("RPostgres", quietly = TRUE)
driver <- if (is_new) RPostgres::Postgres() else RPostgreSQL::PostgreSQL()
known <- list(driver, host = "127.0.0.1", port = as.integer(Sys.getenv("PORT")), dbname = "hospital", user = "me",
              password = Sys.getenv("DISCREET_TOKEN"))
told <- function(...) cat(..., "\n")
refused <- function(query) {
  # RPostgreSQL warns and gives NULL where RPostgres stops
  message <- tryCatch({ dbGetQuery(con, query); "" }, error = conditionMessage, warning = conditionMessage)
  if (nchar(message)) "refused" else "answered"
}
wards <- "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"

con <- do.call(dbConnect, known)
told("tables", sort(dbListTables(con)))
told("fields", dbListFields(con, "patients"))
told("exists", dbExistsTable(con, "patients"), dbExistsTable(con, "doctors"))
told("without a cost", refused(wards))
invisible(dbGetQuery(con, "SET discreet.epsilon = 0.1"))
found <- dbGetQuery(con, wards)
told("columns", names(found), nrow(found), is.numeric(found$n))
bound <- "SELECT COUNT(*) AS n FROM patients WHERE age > $1 AND ward = $2"
told("parameters", if (is_new) nrow(dbGetQuery(con, bound, params = list(40, "A"))) else nrow(dbGetQuery(con, bound, list(40, "A"))))
result <- dbSendQuery(con, wards)
told("portions", nrow(dbFetch(result, 2)), nrow(dbFetch(result, -1)))
invisible(dbClearResult(result))
told("public", nrow(dbReadTable(con, "wards")))
told("rows", refused("SELECT * FROM patients"))
told("writing", refused("CREATE TABLE x (a int)"))
invisible(dbBegin(con))
told("transaction", nrow(dbGetQuery(con, wards)))
invisible(dbCommit(con))
told("disconnected", dbDisconnect(con))

con <- do.call(dbConnect, c(known, options = "-c discreet.epsilon=0.1"))
told("options", nrow(dbGetQuery(con, wards)))
invisible(dbDisconnect(con))
wrong <- known
wrong$password <- "nobody"
told("unknown", tryCatch({ do.call(dbConnect, wrong); "let in" }, error = function(e) "refused"))
