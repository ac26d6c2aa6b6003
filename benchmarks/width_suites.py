"""Questions after the well-known suites, in our own words and over our own tables: a trade of orders and lines of
orders (as TPC-H has it), a retailer with three channels (as TPC-DS has it), and what BigQuery's documentation of
differential privacy shows. With databases of invented rows, from which their true sizes are known.
"""

# ruff: noqa: E501 (a question is one line)

from __future__ import annotations

from typing import Final

HEAD: Final = "[budget]\nepsilon = 10\ndelta = 1e-6\n"
TRADE: Final = f"""
name = "trade"
{HEAD}
[unit]
name = "client"
[tables.clients]
source = "clients.csv"
unit = "client"
[tables.clients.columns]
segment = {{ values = ["auto", "building", "furniture", "household", "machines"] }}
country = {{ values = ["AR", "BR", "CN", "DE", "EG", "FR", "IN", "JP", "KE", "US"] }}
balance = {{ min = -1000, max = 10000 }}
[tables.purchases]
source = "purchases.csv"
unit = "client"
max_rows = 20
[tables.purchases.columns]
purchase = {{ type = "integer", unique = true }}
placed = {{ type = "date", min = 2020-01-01, max = 2026-12-31 }}
status = {{ values = ["open", "partly", "done"] }}
priority = {{ values = ["1-urgent", "2-high", "3-medium", "4-none", "5-low"] }}
total = {{ min = 0, max = 20000 }}
[tables.lines]
source = "lines.csv"
unit = "purchase -> purchases(purchase).client"
max_rows = 80
[tables.lines.columns]
purchase = {{ type = "integer" }}
product = {{ type = "integer", min = 1, max = 200 }}
seller = {{ type = "integer", min = 1, max = 50 }}
quantity = {{ type = "integer", min = 1, max = 50 }}
price = {{ min = 0, max = 5000 }}
discount = {{ min = 0, max = 0.1, step = 0.01 }}
tax = {{ min = 0, max = 0.08, step = 0.01 }}
flag = {{ values = ["A", "N", "R"] }}
mode = {{ values = ["air", "mail", "rail", "ship", "truck"] }}
shipped = {{ type = "date", min = 2020-01-01, max = 2027-06-30 }}
due = {{ type = "date", min = 2020-01-01, max = 2027-06-30 }}
received = {{ type = "date", min = 2020-01-01, max = 2027-06-30 }}
[tables.products]
source = "products.csv"
public = true
[tables.products.columns]
product = {{ type = "integer" }}
brand = {{ type = "text" }}
type = {{ type = "text" }}
size = {{ type = "integer" }}
retail = {{ type = "number" }}
[tables.sellers]
source = "sellers.csv"
public = true
[tables.sellers.columns]
seller = {{ type = "integer" }}
country = {{ type = "text" }}
[tables.countries]
source = "countries.csv"
public = true
[tables.countries.columns]
country = {{ type = "text" }}
region = {{ type = "text" }}
"""
RETAIL: Final = f"""
name = "retail"
{HEAD}
[unit]
name = "shopper"
[tables.shoppers]
source = "shoppers.csv"
unit = "shopper"
[tables.shoppers.columns]
born = {{ type = "integer", min = 1920, max = 2010 }}
state = {{ values = ["CA", "NY", "TN", "TX", "WA"] }}
[tables.store_sales]
source = "store_sales.csv"
unit = "shopper"
max_rows = 30
[tables.store_sales.columns]
ticket = {{ type = "integer", unique = true }}
sold = {{ type = "date", min = 2024-01-01, max = 2025-12-31 }}
item = {{ type = "integer", min = 1, max = 100 }}
store = {{ type = "integer", min = 1, max = 8 }}
quantity = {{ type = "integer", min = 1, max = 20 }}
paid = {{ min = 0, max = 500 }}
profit = {{ min = -100, max = 200 }}
[tables.web_sales]
source = "web_sales.csv"
unit = "shopper"
max_rows = 20
[tables.web_sales.columns]
sold = {{ type = "date", min = 2024-01-01, max = 2025-12-31 }}
item = {{ type = "integer", min = 1, max = 100 }}
quantity = {{ type = "integer", min = 1, max = 20 }}
paid = {{ min = 0, max = 500 }}
profit = {{ min = -100, max = 200 }}
[tables.returns]
source = "returns.csv"
unit = "shopper"
max_rows = 5
[tables.returns.columns]
ticket = {{ type = "integer" }}
returned = {{ type = "date", min = 2024-01-01, max = 2025-12-31 }}
refund = {{ min = 0, max = 500 }}
[tables.items]
source = "items.csv"
public = true
[tables.items.columns]
item = {{ type = "integer" }}
category = {{ type = "text" }}
brand = {{ type = "text" }}
[tables.stores]
source = "stores.csv"
public = true
[tables.stores.columns]
store = {{ type = "integer" }}
state = {{ type = "text" }}
[tables.days]
source = "days.csv"
public = true
[tables.days.columns]
day = {{ type = "date" }}
year = {{ type = "integer" }}
month = {{ type = "integer" }}
weekday = {{ type = "text" }}
"""
LOANS: Final = f"""
name = "loans"
implicit_bounds = true
{HEAD}
[unit]
name = "teacher"
[tables.loans]
source = "loans.csv"
unit = "id"
max_rows = 20
[tables.loans.columns]
item = {{ type = "text" }}
quantity = {{ type = "integer", min = 0, max = 100 }}
[tables.catalogue]
source = "catalogue.csv"
public = true
[tables.catalogue.columns]
item = {{ type = "text" }}
"""
WORLDS: Final = {"trade": TRADE, "retail": RETAIL, "loans": LOANS}

_TRADE_ROWS: Final = """
CREATE MACRO chance(n, salt) AS (hash(n, salt) % 1000000)::DOUBLE / 1e6;
CREATE MACRO pick(n, salt, things) AS things[1 + (hash(n, salt) % len(things))::INT];
CREATE TABLE countries AS SELECT * FROM (VALUES ('AR', 'America'), ('BR', 'America'), ('US', 'America'), ('CN', 'Asia'), ('IN', 'Asia'), ('JP', 'Asia'), ('DE', 'Europe'), ('FR', 'Europe'), ('EG', 'Africa'), ('KE', 'Africa')) AS t(country, region);
CREATE TABLE sellers AS SELECT range AS seller, pick(range, 1, (SELECT list(country ORDER BY country) FROM countries)) AS country FROM range(1, 51);
CREATE TABLE products AS SELECT range AS product, 'brand ' || (range % 5) AS brand, pick(range, 2, ['PROMO steel', 'PROMO tin', 'SMALL brass', 'LARGE steel', 'ECONOMY tin']) AS type, 1 + (hash(range, 3) % 50)::INT AS size, 50 + 10.0 * (range % 100) AS retail FROM range(1, 201);
CREATE TABLE clients AS SELECT 'c' || range AS client, pick(range, 4, ['auto', 'building', 'furniture', 'household', 'machines']) AS segment, pick(range, 5, (SELECT list(country ORDER BY country) FROM countries)) AS country, round(-1000 + 11000 * chance(range, 6), 2) AS balance FROM range(20000);
CREATE TABLE purchases AS SELECT 'c' || (range % 17000) AS client, range AS purchase, DATE '2020-01-01' + (2500 * chance(range, 7))::INT AS placed, pick(range, 8, ['open', 'partly', 'done']) AS status, pick(range, 9, ['1-urgent', '2-high', '3-medium', '4-none', '5-low']) AS priority, round(20000 * chance(range, 10), 2) AS total FROM range(170000);
CREATE TABLE lines AS SELECT *, shipped + (30 * chance(nth, 20))::INT AS received FROM (SELECT p.client, p.purchase, r.range + 7 * p.purchase AS nth, 1 + (hash(nth, 11) % 200)::INT AS product, 1 + (hash(nth, 12) % 50)::INT AS seller, 1 + (hash(nth, 13) % 50)::INT AS quantity, round(5000 * chance(nth, 14), 2) AS price, (hash(nth, 15) % 11)::INT / 100 AS discount, (hash(nth, 16) % 9)::INT / 100 AS tax, pick(nth, 17, ['A', 'N', 'R']) AS flag, pick(nth, 18, ['air', 'mail', 'rail', 'ship', 'truck']) AS mode, placed + (100 * chance(nth, 19))::INT AS shipped, placed + (90 * chance(nth, 21))::INT + 20 AS due FROM purchases p, range(1, 5) r WHERE chance(p.purchase * 5 + r.range, 22) < 0.8);
"""
_RETAIL_ROWS: Final = """
CREATE MACRO chance(n, salt) AS (hash(n, salt) % 1000000)::DOUBLE / 1e6;
CREATE MACRO pick(n, salt, things) AS things[1 + (hash(n, salt) % len(things))::INT];
CREATE TABLE items AS SELECT range AS item, pick(range, 1, ['books', 'home', 'music', 'shoes', 'sports']) AS category, 'brand ' || (range % 10) AS brand FROM range(1, 101);
CREATE TABLE stores AS SELECT range AS store, pick(range, 2, ['CA', 'NY', 'TN', 'TX', 'WA']) AS state FROM range(1, 9);
CREATE TABLE days AS SELECT day::DATE AS day, year(day) AS year, month(day) AS month, dayname(day) AS weekday FROM range(DATE '2024-01-01', DATE '2026-01-01', INTERVAL 1 DAY) t(day);
CREATE TABLE shoppers AS SELECT 's' || range AS shopper, 1930 + (hash(range, 3) % 75)::INT AS born, pick(range, 4, ['CA', 'NY', 'TN', 'TX', 'WA']) AS state FROM range(20000);
CREATE TABLE store_sales AS SELECT 's' || (range % 18000) AS shopper, range AS ticket, DATE '2024-01-01' + (730 * chance(range, 5))::INT AS sold, 1 + (hash(range, 6) % 100)::INT AS item, 1 + (hash(range, 7) % 8)::INT AS store, 1 + (hash(range, 8) % 20)::INT AS quantity, round(500 * chance(range, 9), 2) AS paid, round(-100 + 300 * chance(range, 10), 2) AS profit FROM range(360000);
CREATE TABLE web_sales AS SELECT 's' || (range % 15000) AS shopper, DATE '2024-01-01' + (730 * chance(range, 11))::INT AS sold, 1 + (hash(range, 12) % 100)::INT AS item, 1 + (hash(range, 13) % 20)::INT AS quantity, round(500 * chance(range, 14), 2) AS paid, round(-100 + 300 * chance(range, 15), 2) AS profit FROM range(150000);
CREATE TABLE returns AS SELECT shopper, ticket, LEAST(sold + 20, DATE '2025-12-31') AS returned, paid AS refund FROM store_sales WHERE ticket % 9 = 0;
"""
_LOANS_ROWS: Final = """
CREATE TABLE catalogue AS SELECT unnest(['pencil', 'pen', 'paper', 'scissors', 'atlas']) AS item;
CREATE TABLE loans AS SELECT 't' || (range % 2000) AS id, ['pencil', 'pen', 'paper', 'scissors', 'globe'][1 + (hash(range) % 5)::INT] AS item, (hash(range, 1) % 100)::INT AS quantity FROM range(20000);
"""
ROWS: Final = {"trade": _TRADE_ROWS, "retail": _RETAIL_ROWS, "loans": _LOANS_ROWS}

_NET: Final = "price * (1 - discount)"
_SUPPLY: Final = "lines l JOIN sellers s ON l.seller = s.seller"
_ORDERED: Final = "clients c JOIN purchases p ON p.client = c.client JOIN lines l ON l.purchase = p.purchase"
AFTER_TPC_H: Final = (
    f"SELECT flag, SUM(quantity) AS pieces, SUM(price) AS gross, SUM({_NET}) AS net, AVG(quantity) AS size, AVG(discount) AS cut, COUNT(*) AS n FROM lines WHERE shipped <= DATE '2026-06-01' GROUP BY flag ORDER BY flag",
    "SELECT brand, MIN(retail) AS cheapest FROM products WHERE size < 15 AND type LIKE '%steel' GROUP BY brand ORDER BY cheapest",
    f"SELECT p.purchase, SUM({_NET}) AS revenue FROM {_ORDERED} WHERE segment = 'building' AND placed < DATE '2024-03-15' AND shipped > DATE '2024-03-15' GROUP BY p.purchase ORDER BY revenue DESC LIMIT 10",
    "SELECT priority, COUNT(*) AS n FROM purchases p WHERE placed >= DATE '2024-01-01' AND EXISTS (SELECT 1 FROM lines l WHERE l.purchase = p.purchase AND l.received > l.due) GROUP BY priority ORDER BY priority",
    f"SELECT s.country, SUM({_NET}) AS revenue FROM {_ORDERED} JOIN sellers s ON l.seller = s.seller JOIN countries n ON s.country = n.country WHERE c.country = s.country AND region = 'Asia' GROUP BY s.country ORDER BY revenue DESC",
    "SELECT SUM(price * discount) AS saved FROM lines WHERE shipped BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24",
    f"SELECT s.country AS seller_country, c.country AS buyer_country, YEAR(shipped) AS year, SUM({_NET}) AS revenue FROM {_ORDERED} JOIN sellers s ON l.seller = s.seller WHERE s.country = 'FR' AND c.country = 'DE' OR s.country = 'DE' AND c.country = 'FR' GROUP BY 1, 2, 3",
    f"SELECT YEAR(placed) AS year, SUM(CASE WHEN s.country = 'BR' THEN {_NET} ELSE 0 END) / SUM({_NET}) AS share FROM {_ORDERED} JOIN sellers s ON l.seller = s.seller GROUP BY year ORDER BY year",
    f"SELECT s.country, YEAR(shipped) AS year, SUM({_NET} - 0.5 * retail * quantity) AS profit FROM {_SUPPLY} JOIN products q ON q.product = l.product WHERE q.type LIKE '%steel%' GROUP BY 1, 2",
    f"SELECT c.client, SUM({_NET}) AS lost FROM {_ORDERED} WHERE flag = 'R' GROUP BY c.client ORDER BY lost DESC LIMIT 20",
    "SELECT brand, SUM(retail) AS worth FROM products GROUP BY brand HAVING SUM(retail) > (SELECT SUM(retail) * 0.1 FROM products) ORDER BY worth DESC",
    "SELECT mode, SUM(CASE WHEN priority IN ('1-urgent', '2-high') THEN 1 ELSE 0 END) AS high, SUM(CASE WHEN priority NOT IN ('1-urgent', '2-high') THEN 1 ELSE 0 END) AS low FROM purchases JOIN lines USING (purchase) WHERE mode IN ('mail', 'ship') AND due < received AND YEAR(received) = 2024 GROUP BY mode ORDER BY mode",
    "SELECT bought, COUNT(*) AS clients FROM (SELECT c.client, COUNT(p.purchase) AS bought FROM clients c LEFT JOIN purchases p ON p.client = c.client AND p.priority <> '5-low' GROUP BY c.client) AS counts GROUP BY bought ORDER BY clients DESC, bought DESC",
    f"SELECT 100.0 * SUM(CASE WHEN type LIKE 'PROMO%' THEN {_NET} ELSE 0 END) / SUM({_NET}) AS promoted FROM lines JOIN products USING (product) WHERE shipped >= DATE '2024-09-01' AND shipped < DATE '2024-09-01' + INTERVAL 1 MONTH",
    f"WITH revenue AS (SELECT s.seller, SUM({_NET}) AS total FROM {_SUPPLY} WHERE shipped >= DATE '2024-01-01' GROUP BY s.seller) SELECT seller, total FROM revenue WHERE total = (SELECT MAX(total) FROM revenue)",
    "SELECT brand, COUNT(DISTINCT seller) AS sellers FROM lines JOIN products USING (product) WHERE size IN (3, 9, 14, 19, 23, 36, 45, 49) GROUP BY brand ORDER BY sellers DESC",
    "WITH usual AS (SELECT brand, AVG(quantity) AS q FROM lines JOIN products USING (product) GROUP BY brand) SELECT SUM(price) / 7.0 AS yearly FROM lines JOIN products USING (product) JOIN usual USING (brand) WHERE quantity < 0.2 * q",
    "SELECT COUNT(*) AS large FROM purchases WHERE purchase IN (SELECT purchase FROM lines GROUP BY purchase HAVING SUM(quantity) > 100)",
    f"SELECT SUM({_NET}) AS revenue FROM lines JOIN products USING (product) WHERE brand = 'brand 1' AND quantity BETWEEN 1 AND 11 AND mode IN ('air', 'mail') OR brand = 'brand 2' AND quantity BETWEEN 10 AND 20 OR brand = 'brand 3' AND size BETWEEN 1 AND 15",
    "SELECT COUNT(*) AS n FROM sellers WHERE country = 'BR' AND seller IN (SELECT seller FROM (SELECT s.seller, SUM(quantity) AS q FROM lines l JOIN sellers s ON s.seller = l.seller WHERE YEAR(shipped) = 2024 GROUP BY s.seller) AS sold WHERE q > 1000)",
    f"SELECT s.country, COUNT(*) AS waited FROM {_SUPPLY} WHERE l.received > l.due AND EXISTS (SELECT 1 FROM lines o WHERE o.client = l.client AND o.purchase = l.purchase AND o.seller <> l.seller) AND NOT EXISTS (SELECT 1 FROM lines o WHERE o.client = l.client AND o.purchase = l.purchase AND o.seller <> l.seller AND o.received > o.due) GROUP BY s.country ORDER BY waited DESC",
    "SELECT country, COUNT(*) AS clients, SUM(balance) AS balance FROM clients c WHERE balance > (SELECT AVG(balance) FROM clients WHERE balance > 0) AND NOT EXISTS (SELECT 1 FROM purchases p WHERE p.client = c.client) GROUP BY country ORDER BY country",
)
AFTER_TPC_DS: Final = (
    "SELECT d.year, i.brand, SUM(s.paid) AS paid FROM store_sales s JOIN days d ON s.sold = d.day JOIN items i ON s.item = i.item WHERE i.category = 'books' AND d.month = 11 GROUP BY d.year, i.brand ORDER BY d.year, paid DESC",
    "SELECT i.category, st.state, COUNT(*) AS n, AVG(s.quantity) AS size FROM store_sales s JOIN items i ON s.item = i.item JOIN stores st ON s.store = st.store GROUP BY ROLLUP (i.category, st.state)",
    "SELECT d.weekday, SUM(CASE WHEN i.category = 'home' THEN s.paid ELSE 0 END) AS home, SUM(CASE WHEN i.category = 'music' THEN s.paid ELSE 0 END) AS music FROM store_sales s, days d, items i WHERE s.sold = d.day AND s.item = i.item AND d.year = 2024 GROUP BY d.weekday",
    "SELECT 'store' AS channel, SUM(paid) AS revenue, SUM(profit) AS profit FROM store_sales UNION ALL SELECT 'web', SUM(paid), SUM(profit) FROM web_sales ORDER BY channel",
    "WITH y AS (SELECT YEAR(sold) AS year, SUM(paid) AS paid FROM web_sales GROUP BY year) SELECT b.year, b.paid / a.paid - 1 AS growth FROM y a JOIN y b ON b.year = a.year + 1",
    "SELECT category, SUM(paid) AS revenue, 100 * SUM(paid) / SUM(SUM(paid)) OVER () AS share FROM web_sales w JOIN items i ON i.item = w.item GROUP BY category ORDER BY share DESC",
    "SELECT state, COUNT(*) AS shoppers FROM shoppers WHERE shopper IN (SELECT shopper FROM store_sales WHERE YEAR(sold) = 2024) AND shopper NOT IN (SELECT shopper FROM web_sales) GROUP BY state",
    "SELECT COUNT(*) AS both FROM (SELECT shopper FROM store_sales INTERSECT SELECT shopper FROM web_sales) AS t",
    "SELECT COUNT(DISTINCT s.shopper) AS both FROM shoppers s JOIN store_sales a USING (shopper) JOIN web_sales b USING (shopper)",
    "SELECT i.category, COUNT(*) AS returned, SUM(r.refund) AS refunds FROM returns r JOIN store_sales s ON r.shopper = s.shopper AND r.ticket = s.ticket JOIN items i ON s.item = i.item GROUP BY i.category",
    "SELECT AVG(DATE_DIFF('day', s.sold, r.returned)) AS days FROM store_sales s JOIN returns r ON r.shopper = s.shopper AND r.ticket = s.ticket",
    "SELECT (2025 - born) // 10 * 10 AS age, AVG(spent) AS spent FROM shoppers JOIN (SELECT shopper, SUM(paid) AS spent FROM store_sales GROUP BY shopper) AS t USING (shopper) GROUP BY age ORDER BY age",
    "SELECT store, revenue FROM (SELECT st.store, SUM(paid) AS revenue, RANK() OVER (ORDER BY SUM(paid) DESC) AS r FROM store_sales s JOIN stores st USING (store) GROUP BY st.store) AS ranked WHERE r <= 3",
    "SELECT category, brand, SUM(paid) AS revenue FROM store_sales s JOIN items i USING (item) GROUP BY category, brand QUALIFY ROW_NUMBER() OVER (PARTITION BY category ORDER BY SUM(paid) DESC) = 1",
    "SELECT month, AVG(revenue) AS usual, STDDEV(revenue) AS spread FROM (SELECT d.year, d.month, SUM(paid) AS revenue FROM store_sales s JOIN days d ON s.sold = d.day GROUP BY d.year, d.month) AS t GROUP BY month ORDER BY month",
    "SELECT COUNT(*) FILTER (WHERE quantity BETWEEN 1 AND 5) AS few, COUNT(*) FILTER (WHERE quantity > 15) AS many, AVG(paid) FILTER (WHERE quantity > 15) AS paid FROM store_sales",
    "SELECT state, COUNT(*) AS shoppers FROM shoppers c WHERE EXISTS (SELECT 1 FROM store_sales s WHERE s.shopper = c.shopper AND s.paid > 400) AND (EXISTS (SELECT 1 FROM web_sales w WHERE w.shopper = c.shopper) OR EXISTS (SELECT 1 FROM returns r WHERE r.shopper = c.shopper)) GROUP BY state",
    "SELECT s.item, SUM(s.paid) AS revenue FROM store_sales s GROUP BY s.item ORDER BY revenue DESC LIMIT 10",
)
_CLAUSE: Final = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-7, privacy_unit_column = id{}) "
AFTER_BIGQUERY: Final = (
    _CLAUSE.format(", max_groups_contributed = 2")
    + "item, AVG(quantity, contribution_bounds_per_row => (0, 100)) AS q FROM loans GROUP BY item",
    _CLAUSE.format("") + "item, AVG(quantity, contribution_bounds_per_group => (0, 100)) AS q FROM loans GROUP BY item",
    _CLAUSE.format("") + "item, SUM(quantity, contribution_bounds_per_group => (0, 100)) AS q FROM loans GROUP BY item",
    _CLAUSE.format(", max_groups_contributed = 1")
    + "item, COUNT(*, contribution_bounds_per_group => (0, 5)) AS n FROM loans GROUP BY item",
    _CLAUSE.format("") + "COUNT(DISTINCT id) AS teachers FROM loans",
    _CLAUSE.format(", max_groups_contributed = NULL") + "item, COUNT(*) AS n FROM loans GROUP BY item",
    _CLAUSE.format(", group_selection_strategy = PUBLIC_GROUPS")
    + "item, COUNT(*) AS n FROM loans RIGHT OUTER JOIN (SELECT DISTINCT item FROM catalogue) USING (item) GROUP BY item",
    _CLAUSE.format(", min_privacy_units_per_group = 10") + "item, SUM(quantity) AS q FROM loans GROUP BY item",
    _CLAUSE.format("")
    + "item, APPROX_QUANTILES(quantity, 4, contribution_bounds_per_row => (0, 100)) AS q FROM loans GROUP BY item",
    _CLAUSE.format("") + "PERCENTILE_CONT(quantity, 0.5, contribution_bounds_per_row => (0, 100)) AS q FROM loans",
    _CLAUSE.format("")
    + "VAR_POP(quantity, contribution_bounds_per_row => (0, 100)) AS v, STDDEV_POP(quantity) AS s FROM loans",
    "SELECT item, n FROM ("
    + _CLAUSE.format("")
    + "item, COUNT(*) AS n FROM loans GROUP BY item) WHERE n > 100 ORDER BY n DESC",
)
